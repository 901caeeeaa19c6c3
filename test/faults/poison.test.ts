import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { checkInvariants } from '../../src/doctor/index.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { bundleProgram } from './suite/bundle.js';

const GOOD = 50;

let program: string;
beforeAll(async () => {
  program = await bundleProgram('test/faults/suite/poison-worker.ts', 'poison-worker');
});

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** Keeps a worker alive: whenever it dies, another one is started. */
class Nanny {
  deaths = 0;
  private child: ChildProcess | undefined;
  private isOver = false;

  constructor(
    private readonly schema: string,
    private readonly ackDelayMs: number,
  ) {}

  start(): void {
    const child = spawn(process.execPath, [program], {
      env: {
        ...process.env,
        DDZ_POISON_WORKER: JSON.stringify({ url: databaseUrl(), schema: this.schema, ackDelayMs: this.ackDelayMs }),
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.child = child;
    child.on('exit', (code, signal) => {
      if (this.isOver) return;
      if (signal !== 'SIGKILL') throw new Error(`the worker ended with ${code ?? signal}`);
      this.deaths += 1;
      this.start();
    });
  }

  async stop(): Promise<void> {
    this.isOver = true;
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

/**
 * Notes the highest number of attempts that any message of each instance ever had: a row
 * that is gone cannot be asked any more.
 */
async function watchAttempts(schema: string): Promise<void> {
  const own = pg.escapeIdentifier(schema);
  await withClient((client) =>
    client.query(`
      create table ${own}.seen_attempts (instance_id text, queue text, attempts int not null, primary key (instance_id, queue));
      create function ${own}.see_attempts() returns trigger language plpgsql as $$
      begin
        insert into ${own}.seen_attempts values (new.instance_id, tg_table_name, new.attempt_count)
        on conflict (instance_id, queue) do update set attempts = greatest(seen_attempts.attempts, excluded.attempts);
        return new;
      end $$;
      create trigger see_attempts after update of attempt_count on ${own}.orchestrator_queue
        for each row execute function ${own}.see_attempts();
      create trigger see_attempts after update of attempt_count on ${own}.worker_queue
        for each row execute function ${own}.see_attempts()`),
  );
}

const DEADLY = [
  {
    what: 'a turn',
    orchestration: 'DeadlyTurn',
    failure: /^poison: orchestration deadly exceeded 11 attempts \(max 10\)$/,
  },
  {
    what: 'an activity',
    orchestration: 'DeadlyActivity',
    failure: /^poison: activity Deadly#2 exceeded 11 attempts \(max 10\)$/,
  },
];

test.each(
  DEADLY.flatMap((poison) => [
    { ...poison, ackDelayMs: 0, acks: '' },
    // What is being acknowledged is held by the process that dies, in either queue.
    { ...poison, ackDelayMs: 200, acks: ', acknowledgements are slow' },
  ]),
)(
  'R:PO-05 poison does not spread: $what that kills its process, in a batch with 50 good instances$acks',
  async (poison) => {
    const schema = uniqueSchema('poison');
    cleanUps.push(() => dropSchema(schema));
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 3 });
    const provider = await DrizzleProvider.fromPool(pool, { schema, logger: silentLogger, ownsClient: true });
    cleanUps.push(() => provider.close());
    await watchAttempts(schema);
    const client = new Client(provider);
    const good = Array.from({ length: GOOD }, (_, n) => `good-${n}`);
    // In one statement, the deadly one in the middle: one fetch takes them all.
    const ids = [...good.slice(0, GOOD / 2), 'deadly', ...good.slice(GOOD / 2)];
    await provider.enqueueForOrchestrator(
      ids.map((instance) => ({
        item: {
          kind: 'StartOrchestration' as const,
          instance,
          orchestration: instance === 'deadly' ? poison.orchestration : 'Good',
          input: JSON.stringify(instance),
          version: null,
          parentInstance: null,
          parentId: null,
          executionId: 1,
        },
      })),
    );
    const nanny = new Nanny(schema, poison.ackDelayMs);
    cleanUps.push(() => nanny.stop());
    nanny.start();

    const deadly = await client.waitForOrchestration('deadly', 240_000);
    expect(deadly).toMatchObject({ status: 'Failed' });
    expect(deadly.error).toMatch(poison.failure);
    for (const id of good) {
      expect(await client.waitForOrchestration(id, 60_000)).toMatchObject({
        status: 'Completed',
        output: id,
      });
    }
    const attempts = await withClient(async (connection) => {
      const { rows } = await connection.query<{ instance_id: string; queue: string; attempts: number }>(
        `select instance_id, queue, attempts from ${pg.escapeIdentifier(schema)}.seen_attempts`,
      );
      return rows;
    });
    const most = (id: string) =>
      Math.max(...attempts.filter((row) => row.instance_id === id).map((row) => row.attempts));
    expect(most('deadly')).toBe(11);
    // In either queue: of the messages of its turns, and of its activities.
    expect(attempts.filter((row) => row.instance_id !== 'deadly' && row.attempts > 3)).toEqual([]);
    expect(new Set(attempts.map((row) => row.instance_id)).size).toBe(GOOD + 1);
    expect(nanny.deaths).toBe(10);
    await nanny.stop();
    expect((await checkInvariants(drizzle(pool), { schema })).violations).toEqual([]);
  },
);

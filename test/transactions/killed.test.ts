import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { eq, sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { type Failpoint, FailpointProxy } from '../support/failpoints.js';
import { applicationTables, payment } from './payment.js';

// FAILPOINTS=all stops the second provider before each statement, too; what precedes the
// first and follows each of them is always there.
// One file that starts fast: a process is started for each failpoint.
let child: { readonly file: string; readonly folder: string };
beforeAll(async () => {
  const folder = await mkdtemp(path.join(process.cwd(), 'node_modules', '.ddz-killed-'));
  const file = path.join(folder, 'child.mjs');
  const esbuild = path.join(process.cwd(), 'node_modules', '.bin', 'esbuild');
  const options = ['--bundle', '--platform=node', '--format=esm', '--packages=external', `--outfile=${file}`];
  await promisify(execFile)(esbuild, ['test/transactions/killed-child.ts', ...options]);
  child = { file, folder };
}, 60_000);
afterAll(() => rm(child.folder, { recursive: true, force: true }));

describe.each([
  ['DrizzleProvider', DrizzleProvider, '', true],
  ['StoredFunctionProvider', StoredFunctionProvider, 'functions', process.env['FAILPOINTS'] === 'all'],
] as const)('a worker of %s that is killed', (_name, Provider, provides, isThorough) => {
  const schema = uniqueSchema('killed');
  const { accounts, payments } = applicationTables(schema);
  let pool: pg.Pool;
  let db: NodePgDatabase & { $client: pg.Pool };
  let provider: DrizzleProvider;
  let proxy: FailpointProxy;
  let clock: FakeClock;
  let processes: ChildProcess[] = [];
  let waiting: Promise<ChildProcess> | undefined;

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
    db = drizzle(pool);
    clock = new FakeClock(Date.now());
    const options = { schema, clock, logger: silentLogger, notifications: false };
    const migrating = await DrizzleProvider.fromDrizzle(db, options);
    if (provides) await migrating.migrate({ storedFunctions: true });
    provider = await Provider.fromDrizzle(db, options);
    await db.execute(sql`create table ${accounts} (name text primary key, cents integer not null)`);
    await db.execute(sql`create table ${payments} (account text not null, cents integer not null)`);
    proxy = await FailpointProxy.open(databaseUrl());
  });
  afterAll(async () => {
    for (const process_ of processes) process_.kill('SIGKILL');
    processes = [];
    await proxy.close();
    await provider.close();
    await pool.end();
    await dropSchema(schema);
  });

  /** A process that is ready to look; the next one loads meanwhile. */
  async function nextChild(): Promise<ChildProcess> {
    const process_ = await (waiting ?? startChild());
    waiting = startChild();
    waiting.catch(() => {});
    await tell(process_, 'connect', 'ready');
    return process_;
  }

  async function startChild(): Promise<ChildProcess> {
    const process_ = spawn(process.execPath, [child.file, proxy.url, schema, provides], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    processes.push(process_);
    await said(process_, 'loaded');
    return process_;
  }

  /** An activity of a new instance, and the account that it pays from. */
  async function schedule(account: string): Promise<void> {
    await db.insert(accounts).values({ name: account, cents: 100 });
    clock.set(Date.now());
    const [enqueued] = await provider.enqueueForWorker([
      {
        kind: 'ActivityExecute',
        instance: account,
        executionId: 1,
        id: 2,
        name: 'pay',
        input: JSON.stringify(account),
      },
    ]);
    expect(enqueued).toMatchObject({ ok: true });
  }

  /** Another worker, at a time when the lock of the dead one has run out. */
  async function restart(): Promise<void> {
    clock.set(Date.now() + 60_000);
    const runtime = new Runtime(provider, { clock, logger: silentLogger, logLevel: 'off' });
    runtime.register(payment(schema));
    const { parts } = runtime['prepare']();
    while ((await parts.activities.runOnce()).fetched > 0);
    await runtime.shutdown(0);
  }

  /** What the application and the store say of an instance's activity. */
  async function effects(account: string) {
    const [row] = await db.select().from(accounts).where(eq(accounts.name, account));
    const paid = await db.select().from(payments).where(eq(payments.account, account));
    const queues = await db.execute<{ completions: string; waiting: string }>(sql`
      select (select count(*) from ${sql.raw(`"${schema}".orchestrator_queue`)} where instance_id = ${account}) as completions,
        (select count(*) from ${sql.raw(`"${schema}".worker_queue`)} where instance_id = ${account}) as waiting`);
    const { completions, waiting: left } = queues.rows[0] ?? {};
    return { cents: row?.cents, payments: paid.length, completions: Number(completions), waiting: Number(left) };
  }

  const once_ = { cents: 90, payments: 1, completions: 1, waiting: 0 };

  test('before or after any statement of the fetch, of its transaction or of the commit: the effect is there exactly once', async () => {
    await schedule('undisturbed');
    const undisturbed = await nextChild();
    proxy.watch();
    await tell(undisturbed, 'go', 'done');
    const statements = proxy.statements.map(({ text }) => text);
    expect(await effects('undisturbed')).toEqual(once_);
    // The fetch, the names of the instance, and the transaction of the activity.
    const ofUser = statements.slice(statements.findLastIndex((text) => /^begin/i.test(text)));
    expect(ofUser.filter((text) => /accounts|payments/.test(text))).toHaveLength(2);
    expect(ofUser.at(-1)).toMatch(/^commit$/i);

    const moments = isThorough ? (['before', 'after'] as const) : (['after'] as const);
    const failpoints: Failpoint[] = statements.flatMap((_, at) => moments.map((when) => ({ when, at })));
    const outcomes: Record<string, unknown> = {};
    const committed: boolean[] = [];
    for (const { when, at } of failpoints) {
      const account = `killed ${when} ${String(at)}`;
      await schedule(account);
      const victim = await nextChild();
      proxy.watch();
      const reached = proxy.arm({ when, at });
      victim.stdin?.write('go\n');
      const statement = await reached;
      victim.kill('SIGKILL');
      await once(victim, 'exit');
      proxy.cut();
      await settled(schema);
      committed.push((await effects(account)).payments === 1);
      await restart();
      outcomes[`${account}: ${statement.text.slice(0, 40)}`] = await effects(account);
    }
    expect(outcomes).toEqual(Object.fromEntries(Object.keys(outcomes).map((key) => [key, once_])));
    expect(Object.keys(outcomes)).toHaveLength(failpoints.length);
    // Only whoever was killed after the COMMIT had paid; all others left it to their successor.
    expect(committed).toEqual([...committed.slice(0, -1).map(() => false), true]);
  });

  /** The server has noticed that the connections are gone: nothing of them is in a transaction. */
  async function settled(schemaName: string): Promise<void> {
    for (;;) {
      const { rows } = await pool.query(
        `select 1 from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and l.pid <> pg_backend_pid() limit 1`,
        [schemaName],
      );
      if (rows.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
});

async function tell(process_: ChildProcess, word: string, answer: string): Promise<void> {
  const answered = said(process_, answer);
  process_.stdin?.write(`${word}\n`);
  await answered;
}

async function said(process_: ChildProcess, word: string): Promise<void> {
  const { stdout } = process_;
  if (!stdout) throw new Error('a process without output');
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      if (!output.split('\n').includes(word)) return;
      stdout.off('data', listen);
      process_.off('exit', died);
      resolve();
    };
    const died = () => reject(new Error(`the process ended before it said ${word}`));
    stdout.on('data', listen);
    process_.on('exit', died);
  });
}

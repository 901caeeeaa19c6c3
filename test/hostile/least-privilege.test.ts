import { afterEach, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { checkInvariants } from '../../src/doctor/index.js';
import { migrate } from '../../src/provider/drizzle/migrate/on-database.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { activity, orchestration } from '../../src/typed/definitions.js';
import { mount } from '../dashboard/stage.js';
import { inOwnDatabase } from '../support/own-database.js';
import { waitFor } from '../support/waiting.js';
import { useEverything } from './use-everything.js';

const SCHEMA = 'work';

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

/** A role with what docs/schema.md grants, and nothing else: not even what PUBLIC has by default. */
async function asLeastRole(storedFunctions: boolean, use: (url: string) => Promise<void>): Promise<void> {
  await inOwnDatabase(async (ownerUrl) => {
    const role = `ddz_least_${randomBytes(5).toString('hex')}`;
    const database = new URL(ownerUrl).pathname.slice(1);
    const pool = new pg.Pool({ connectionString: ownerUrl, max: 2 });
    await migrate(drizzle(pool), { schema: SCHEMA, storedFunctions });
    await pool.query(`create role ${role} login password 'least';
      revoke all on database ${database} from public;
      grant connect on database ${database} to ${role};
      revoke all on schema public from public;
      grant usage on schema ${SCHEMA} to ${role};
      grant select, insert, update, delete on all tables in schema ${SCHEMA} to ${role};
      grant usage on all sequences in schema ${SCHEMA} to ${role};
      revoke execute on all functions in schema ${SCHEMA} from public;
      ${storedFunctions ? `grant execute on all functions in schema ${SCHEMA} to ${role};` : ''}
      create table public.ddl (tag text);
      create function public.note_ddl() returns event_trigger language plpgsql security definer as
        $$ begin insert into public.ddl values (tg_tag); end $$;
      create event trigger note_ddl on ddl_command_start execute function public.note_ddl()`);
    const url = new URL(ownerUrl);
    url.username = role;
    url.password = 'least';
    try {
      await use(url.toString());
      expect((await pool.query('select * from public.ddl')).rows).toEqual([]);
      const owned = await pool.query(
        `select 1 from pg_class c join pg_roles r on r.oid = c.relowner where r.rolname = $1`,
        [role],
      );
      expect(owned.rows).toEqual([]);
    } finally {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
      await pool.query(`drop event trigger note_ddl; drop owned by ${role}; drop role ${role}`);
      await pool.end();
    }
  });
}

describe('C-18 the least privileges that are documented are enough', () => {
  test.each([
    { name: 'DrizzleProvider', Provider: DrizzleProvider, storedFunctions: false },
    { name: 'StoredFunctionProvider', Provider: StoredFunctionProvider, storedFunctions: true },
  ])('$name does everything, and creates nothing', async ({ Provider, storedFunctions }) => {
    await asLeastRole(storedFunctions, async (url) => {
      const provider = await Provider.connect(url, { schema: SCHEMA, logger: silentLogger });
      cleanUps.push(() => provider.close());
      await useEverything(provider);
    });
  });

  test('schedules, start queues, transactions of the application, retries, workers, the doctor and the dashboard, too', async () => {
    await asLeastRole(false, async (url) => {
      const pool = new pg.Pool({ connectionString: url, max: 4 });
      const db = drizzle(pool);
      const provider = await DrizzleProvider.fromDrizzle(db, {
        schema: SCHEMA,
        logger: silentLogger,
        ownsClient: true,
      });
      cleanUps.push(() => provider.close());
      let isBroken = true;
      const weigh = activity('weigh', (_ctx, grams: number) => {
        if (isBroken) throw new Error('the scales are broken');
        return grams;
      });
      const weighAll = orchestration('weighAll', async (ctx, grams: number) => ctx.call(weigh, grams));
      const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
      runtime.register(weigh, weighAll);
      await runtime.start();
      cleanUps.push(() => runtime.shutdown(0));
      const client = new Client(provider);
      const admin = provider.asManagement();
      const dashboard = mount({ provider });
      const ask = async (path: string, query = {}) => {
        const { status, body } = await dashboard.get(path, query);
        expect({ path, status }).toEqual({ path, status: 200 });
        return body;
      };
      const steer = async (path: string, body: object) =>
        expect({ path, ...(await dashboard.post(path, body)) }).toMatchObject({ path, status: 200 });

      // One that fails, is retried once through the contract and once by the dashboard.
      const failed = await client.start(weighAll, 5, { id: 'w', ifExists: 'error' });
      await expect(failed.result()).rejects.toThrow('broken');
      expect(await ask('retry', { id: 'w' })).toMatchObject({ toEventId: 2 });
      await admin.resetInstance('w', 2);
      await expect(failed.result()).rejects.toThrow('broken');
      isBroken = false;
      await steer('retry', { id: 'w', toEventId: 2 });
      expect(await failed.result()).toBe(5);

      // Schedules: by time, by hand, and from the dashboard.
      await client.schedules.create({ id: 's', orchestration: weighAll, input: 7, everyMs: 1_000 });
      const triggered = await client.schedules.trigger('s');
      expect(await client.waitForOrchestrationTyped(triggered)).toBe(7);
      await waitFor(
        'it fires by time',
        () => client.schedules.get('s'),
        ({ lastFireAt }) => lastFireAt !== null,
      );
      await client.schedules.update('s', { input: 8 });
      for (const action of ['pause', 'resume', 'trigger', 'delete']) await steer(`schedule/${action}`, { id: 's' });
      expect(await client.schedules.list()).toEqual([]);

      await client.startQueues.create({ id: 'q', concurrency: 1 });
      const queued = await client.start(weighAll, 9, { id: 'queued', queue: 'q' });
      expect(await queued.result()).toBe(9);
      await client.startQueues.delete('q', { waiting: 'discard' });

      await db.transaction(async (tx) => void (await client.withTransaction(tx).start(weighAll, 10, { id: 'tx' })));
      expect(await client.handle(weighAll, 'tx').result()).toBe(10);

      await waitFor(
        'the runtime has told of itself',
        () => admin.workers(),
        ({ length }) => length === 1,
      );
      for (const path of ['session', 'overview', 'schedules', 'instances']) await ask(path);
      for (const path of ['instance', 'children', 'history', 'output']) await ask(path, { id: 'w' });
      await steer('delete', { id: 'tx', force: false });

      const report = await checkInvariants(db, { schema: SCHEMA, orchestrations: runtime });
      expect(report.violations).toEqual([]);
      expect(report.checked.replayed).toBeGreaterThanOrEqual(3);
    });
  });
});

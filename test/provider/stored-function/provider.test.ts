import { describe, expect, test } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { FakeClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/logger.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { migrate } from '../../../src/provider/drizzle/migrate/on-database.js';
import type { Provider } from '../../../src/provider/provider.js';
import { ackWorkItem, fetchOrchestrationItem, fetchWorkItem } from '../../../src/provider/single-forms.js';
import { StoredFunctionProvider } from '../../../src/provider/stored-function/index.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../../support/database.js';
import { RecordingLogger } from '../../support/waiting.js';
import { withDriver } from '../drizzle/migrate/support.js';

const start = {
  kind: 'StartOrchestration',
  instance: 'order-1',
  orchestration: 'Checkout',
  input: '1',
  version: '1.0.0',
  parentInstance: null,
  parentId: null,
  executionId: 1,
} as const;

describe('StoredFunctionProvider: connecting', () => {
  test('refuses a schema without the functions, and names the command that installs them', async () => {
    const schema = uniqueSchema();
    const error: unknown = await StoredFunctionProvider.connect(databaseUrl(), { schema }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      name: 'SchemaError',
      kind: 'pending',
      message: expect.stringContaining(`npx duroxide-drizzle migrate --schema ${schema} --stored-functions`),
    });
    await dropSchema(schema);
  });

  test('goes on with functions of another version, and says what to run', async () => {
    const schema = uniqueSchema();
    await withDriver(async (_, pool) => {
      await migrate({ $client: pool }, { schema, storedFunctions: true });
      await pool.query(`create or replace function ${schema}.list_instances() returns table(instance_id text)
        language plpgsql as $$ begin return; end $$`);
    });
    const logger = new RecordingLogger();
    const provider = await StoredFunctionProvider.connect(databaseUrl(), { schema, logger });
    expect(logger.at('warn')).toEqual([expect.stringContaining('--stored-functions')]);
    await provider.close();
    await dropSchema(schema);
  });
});

describe('StoredFunctionProvider on PGlite', () => {
  test('embedded: brings its functions along', async () => {
    const provider = await StoredFunctionProvider.embedded({ logger: silentLogger });
    expect(await provider.enqueueForOrchestrator([{ item: start }])).toEqual([{ ok: true, value: undefined }]);
    expect(await fetchOrchestrationItem(provider, { lockTimeoutMs: 1_000 })).toMatchObject({
      instance: 'order-1',
      history: { kind: 'full', events: [] },
    });
    await provider.close();
  });

  test('one line swaps the providers: each goes on with what the other left', async () => {
    const client = await PGlite.create();
    const db = drizzle(client);
    await migrate(db, { schema: 'shop', storedFunctions: true });
    const options = { schema: 'shop', clock: new FakeClock(), logger: silentLogger };
    const functions: Provider = await StoredFunctionProvider.fromDrizzle(db, options);
    const queries: Provider = await DrizzleProvider.fromDrizzle(db, options);

    await functions.enqueueForOrchestrator([{ item: start }]);
    const item = await fetchOrchestrationItem(queries, { lockTimeoutMs: 1_000 });
    if (!item) throw new Error('nothing was fetched');
    const activity = {
      kind: 'ActivityExecute',
      instance: 'order-1',
      executionId: 1,
      id: 2,
      name: 'Pay',
      input: '',
    } as const;
    const results = await functions.ackOrchestrationItems([
      {
        ...item,
        historyDelta: [],
        workerItems: [activity],
        orchestratorItems: [],
        metadata: { orchestrationName: 'Checkout', orchestrationVersion: '1.0.0' },
        cancelledActivities: [],
      },
    ]);
    expect(results).toEqual([{ ok: true, value: undefined }]);
    const work = await fetchWorkItem(queries, { lockTimeoutMs: 1_000, tagFilter: { kind: 'any' } });
    expect(work?.item).toEqual(activity);
    await ackWorkItem(functions, work?.lockToken ?? '');
    expect(await queries.asManagement().getInstanceInfo('order-1')).toEqual(
      await functions.asManagement().getInstanceInfo('order-1'),
    );
    await functions.close();
    await queries.close();
    await client.close();
  });

  test('migrates with every addition, and a second time does nothing', async () => {
    const client = await PGlite.create();
    const db = drizzle(client);
    const everything = { schema: 'shop', storedFunctions: true, notifyTriggers: true, adoptIndexes: true };
    expect((await migrate(db, everything)).status).toMatchObject({
      origin: 'ours',
      storedFunctions: 'current',
      notifyTriggers: true,
      missingIndexes: [],
    });
    expect((await migrate(db, everything)).applied).toEqual([]);
    await client.exec('drop index shop.ddz_orch_ready');
    expect((await migrate(db, everything)).applied).toEqual(['adopt_indexes', 'ddz_orch_ready']);
    await client.close();
  });
});

describe('StoredFunctionProvider: many executions', () => {
  test('the fetch of an instance reads the history of its current execution by its key', async () => {
    const schema = uniqueSchema();
    await withDriver(async (_, pool) => {
      await migrate({ $client: pool }, { schema, storedFunctions: true });
      await pool.query(`insert into ${schema}.instances values ('i', 'O', '1.0.0', 300, now(), now())`);
      await pool.query(`insert into ${schema}.history
        select 'i', e, n, 'Event', format('{"execution":%s,"event":%s}', e, n), now()
          from generate_series(1, 300) e, generate_series(1, 5) n`);
      await pool.query(`insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
        values ('i', '{}', to_timestamp(0), now())`);
      const { rows } = await pool.query<{ out_history: { execution: number; event: number }[] }>(
        `select out_history from ${schema}.fetch_orchestration_item(1000000, 1000)`,
      );
      expect(rows[0]?.out_history).toEqual([1, 2, 3, 4, 5].map((event) => ({ execution: 300, event })));
    });
    await dropSchema(schema);
  });
});

import { describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { FakeClock } from '../../../src/base/clock.js';
import type { Driver } from '../../../src/provider/drizzle/executor.js';
import { migrateSchema } from '../../../src/provider/drizzle/migrate/index.js';
import { nativeAddon, nativeAvailable, nativeUnavailableReason } from '../../oracle/addon.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../support/database.js';
import { withDriver } from '../drizzle/migrate/support.js';
import { appendixA } from './appendix-a.js';

const DEAD = ['ack_orchestration', 'enqueue_completion', 'enqueue_message', 'enqueue_orchestration_work'];

async function signatures(schema: string): Promise<Record<string, [string, string]>> {
  const { rows } = await withClient((client) =>
    client.query<{ name: string; args: string; result: string }>(
      `select proname as name, pg_get_function_arguments(oid) as args, pg_get_function_result(oid) as result
         from pg_proc where pronamespace = $1::regnamespace`,
      [schema],
    ),
  );
  return Object.fromEntries(rows.map(({ name, args, result }) => [name, [args, result]]));
}

async function withFunctions(use: (schema: string, driver: Driver, pool: pg.Pool) => Promise<void>): Promise<void> {
  const schema = uniqueSchema();
  await withDriver(async (driver, pool) => {
    await migrateSchema(driver, { schema, storedFunctions: true });
    await use(schema, driver, pool);
  });
  await dropSchema(schema);
}

describe('our stored functions: signatures', () => {
  test('P:App-A names, arguments, defaults and result columns are those of appendix A', async () => {
    await withFunctions(async (schema) => expect(await signatures(schema)).toEqual(appendixA));
  });

  (nativeAvailable ? test : test.skip)(
    `P:App-A … and those of native's catalogue ${nativeUnavailableReason}`,
    async () => {
      const schema = uniqueSchema('nat');
      await nativeAddon().JsPostgresProvider.connectWithSchema(databaseUrl(), schema);
      const native = await signatures(schema);
      for (const name of DEAD) delete native[name];
      expect(native).toEqual(appendixA);
      await dropSchema(schema);
    },
  );
});

describe('our stored functions: installation', () => {
  test('updated in place, and left alone when they are current', async () => {
    await withFunctions(async (schema, driver, pool) => {
      expect((await migrateSchema(driver, { schema, storedFunctions: true })).applied).toEqual([]);
      await pool.query(`create or replace function ${schema}.list_instances() returns table(instance_id text)
        language plpgsql as $$ begin end $$`);
      expect((await migrateSchema(driver, { schema })).status.storedFunctions).toBe('outdated');
      const { applied, status } = await migrateSchema(driver, { schema, storedFunctions: true });
      expect(applied).toEqual(['stored_functions']);
      expect(status.storedFunctions).toBe('current');
    });
  });

  test('one that was dropped is reported and comes back', async () => {
    await withFunctions(async (schema, driver, pool) => {
      await pool.query(`drop function ${schema}.list_instances()`);
      expect((await migrateSchema(driver, { schema })).status).toMatchObject({
        storedFunctions: 'none',
        damagedAdditions: ['stored_functions'],
      });
      await migrateSchema(driver, { schema, storedFunctions: true });
      expect(await signatures(schema)).toEqual(appendixA);
    });
  });

  test("a function of the application's with one of these signatures is not replaced", async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver, pool) => {
      await migrateSchema(driver, { schema });
      await pool.query(`create function ${schema}.list_instances() returns int language sql as 'select 1'`);
      await expect(migrateSchema(driver, { schema, storedFunctions: true })).rejects.toMatchObject({
        kind: 'occupied',
      });
      expect((await pool.query(`select ${schema}.list_instances() as one`)).rows).toEqual([{ one: 1 }]);
    });
    await dropSchema(schema);
  });

  (nativeAvailable ? test : test.skip)('P:T-16 refused on a schema that native migrated', async () => {
    const schema = uniqueSchema('nat');
    await nativeAddon().JsPostgresProvider.connectWithSchema(databaseUrl(), schema);
    await withDriver(async (driver) => {
      await expect(migrateSchema(driver, { schema, storedFunctions: true })).rejects.toMatchObject({
        kind: 'occupied',
        message: expect.stringContaining('StoredFunctionProvider uses'),
      });
      expect((await migrateSchema(driver, { schema })).status.storedFunctions).toBe('native');
    });
    await dropSchema(schema);
  });

  test('cleanup_schema drops everything but the schema, itself included', async () => {
    await withFunctions(async (schema, driver, pool) => {
      await migrateSchema(driver, { schema, notifyTriggers: true });
      await pool.query(`select ${schema}.cleanup_schema()`);
      expect(await signatures(schema)).toEqual({});
      const { rows } = await pool.query('select 1 from pg_class where relnamespace = $1::regnamespace', [schema]);
      expect(rows).toEqual([]);
    });
  });
});

describe('our stored functions: better than they must be', () => {
  const clock = new FakeClock();
  const now = clock.nowMs();
  const start = (instance: string) =>
    `{"StartOrchestration":{"instance":"${instance}","orchestration":"Hello","input":"1","version":"1.0.0","parent_instance":null,"parent_id":null,"execution_id":1}}`;

  async function enqueue(pool: pg.Pool, schema: string, instance: string, item = start(instance)): Promise<void> {
    await pool.query(`select ${schema}.enqueue_orchestrator_work($1, $2, to_timestamp($3::bigint / 1000.0))`, [
      instance,
      item,
      now - 1000,
    ]);
  }

  async function fetch(queryable: pg.Pool | pg.ClientBase, schema: string) {
    const { rows } = await queryable.query<Record<string, unknown>>(
      `select * from ${schema}.fetch_orchestration_item($1, 5000)`,
      [now],
    );
    return rows[0];
  }

  test('P:XR-7 P:T-5 a candidate whose row a stranger has locked is passed over at once', async () => {
    await withFunctions(async (schema, _, pool) => {
      await enqueue(pool, schema, 'held');
      await enqueue(pool, schema, 'free');
      await withClient(async (stranger) => {
        await stranger.query(`begin; select 1 from ${schema}.orchestrator_queue where instance_id = 'held' for update`);
        expect(await fetch(pool, schema)).toMatchObject({ out_instance_id: 'free' });
        // Nothing else is there: the answer comes without waiting for the stranger.
        expect(await fetch(pool, schema)).toBeUndefined();
        await stranger.query('rollback');
      });
      expect(await fetch(pool, schema)).toMatchObject({ out_instance_id: 'held' });
    });
  });

  test('P:T-6 lost candidates leave no advisory lock behind, and one is held at a time', async () => {
    await withFunctions(async (schema, _, pool) => {
      for (const instance of ['a', 'b', 'c', 'd']) await enqueue(pool, schema, instance);
      await withClient((stranger) =>
        withClient(async (fetcher) => {
          await stranger.query(`begin`);
          await stranger.query(
            `select 1 from ${schema}.orchestrator_queue where instance_id in ('a', 'b', 'c') for update`,
          );
          await fetcher.query('begin');
          expect(await fetch(fetcher, schema)).toMatchObject({ out_instance_id: 'd' });
          const { rows } = await fetcher.query(
            `select count(*)::int as held, bool_and(objid::bigint = (hashtext('d')::bigint & 4294967295)) as is_d
               from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
          );
          expect(rows).toEqual([{ held: 1, is_d: true }]);
          await fetcher.query('rollback');
          await stranger.query('rollback');
        }),
      );
    });
  });

  test('P:T-6 never waits for an advisory lock that somebody else holds', async () => {
    await withFunctions(async (schema, _, pool) => {
      await enqueue(pool, schema, 'a');
      await withClient(async (stranger) => {
        await stranger.query(`begin; select pg_advisory_xact_lock(hashtext('a'))`);
        expect(await fetch(pool, schema)).toBeUndefined();
        await stranger.query('rollback');
      });
      expect(await fetch(pool, schema)).toMatchObject({ out_instance_id: 'a' });
    });
  });

  test('P:T-3 text that is no jsonb is answered as a string, and blocks nobody', async () => {
    await withFunctions(async (schema, _, pool) => {
      await enqueue(pool, schema, 'broken', '{"StartOrchestration": \\u0000');
      await pool.query(
        `insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
         values ('broken', '{"ok":"\\u0000"}', to_timestamp(0), now())`,
      );
      await enqueue(pool, schema, 'fine');
      await pool.query(`insert into ${schema}.history values ('fine', 1, 1, 'Event', '{"type"', now())`);
      const items = [await fetch(pool, schema), await fetch(pool, schema)];
      expect(items).toMatchObject([
        { out_instance_id: 'broken', out_messages: ['{"StartOrchestration": \\u0000', '{"ok":"\\u0000"}'] },
        { out_instance_id: 'fine', out_orchestration_name: 'Hello', out_history: ['{"type"'] },
      ]);
    });
  });

  test('a ready instance behind thousands of rows that are not is found', async () => {
    await withFunctions(async (schema, _, pool) => {
      await pool.query(
        `insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
           select 'locked-' || (n % 900), '{}', to_timestamp(n), now() from generate_series(1, 1800) n`,
      );
      await pool.query(
        `insert into ${schema}.instance_locks select 'locked-' || n, 'x', $1::bigint + 1000, 0 from generate_series(0, 899) n`,
        [now],
      );
      await enqueue(pool, schema, 'ready');
      expect(await fetch(pool, schema)).toMatchObject({ out_instance_id: 'ready' });
      expect(await fetch(pool, schema)).toBeUndefined();
    });
  });

  test('safe from a search_path with operators and functions of somebody else', async () => {
    await withFunctions(async (schema) => {
      await withClient(async (client) => {
        const evil = uniqueSchema('evil');
        await client.query(`create schema ${evil};
          create function ${evil}.no(text, text) returns boolean language sql as 'select false';
          create operator ${evil}.= (function = ${evil}.no, leftarg = text, rightarg = text);
          create function ${evil}.hashtext(text) returns int language plpgsql as $$ begin raise 'hijacked'; end $$;
          set search_path to ${evil}, pg_catalog`);
        await client.query(`select ${schema}.enqueue_orchestrator_work('i', $1, to_timestamp(0))`, [start('i')]);
        const item = await fetch(client, schema);
        expect(item).toMatchObject({ out_instance_id: 'i' });
        await client.query(`select ${schema}.abandon_orchestration_item($1, $2)`, [item?.['out_lock_token'], now]);
        await client.query('reset search_path');
        await client.query(`drop schema ${evil} cascade`);
      });
    });
  });

  test('P:XR-5 P:T-7 two acknowledgements with one token: the second waits and is refused', async () => {
    await withFunctions(async (schema, _, pool) => {
      await enqueue(pool, schema, 'i');
      const item = await fetch(pool, schema);
      const ack = `select ${schema}.ack_orchestration_item($1, $2, 1, '[]', '[{"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"A","input":""}}]', '[]', '{}')`;
      const values = [item?.['out_lock_token'], now];
      await withClient((first) =>
        withClient(async (second) => {
          await first.query('begin');
          await first.query(ack, values);
          const { rows: before } = await second.query<{ pid: number }>('select pg_backend_pid() as pid');
          const refused = second.query(ack, values).then(
            () => 'accepted',
            (error: Error) => error.message,
          );
          await waitUntil(async () => {
            const { rows } = await pool.query('select cardinality(pg_blocking_pids($1)) as n', [before[0]?.pid]);
            return (rows as { n: number }[])[0]?.n === 1;
          });
          await first.query('commit');
          expect(await refused).toBe('Invalid lock token');
        }),
      );
      expect((await pool.query(`select 1 from ${schema}.worker_queue`)).rows).toHaveLength(1);
    });
  });

  test('P:T-10 a stray message leaves no execution behind', async () => {
    await withFunctions(async (schema, _, pool) => {
      await enqueue(pool, schema, 'ghost', '{"ExternalRaised":{"instance":"ghost","name":"e","data":"1"}}');
      const item = await fetch(pool, schema);
      expect(item).toMatchObject({ out_orchestration_name: 'Unknown', out_execution_id: '1' });
      await pool.query(`select ${schema}.ack_orchestration_item($1, $2, 1, '[]', '[]', '[]', '{}')`, [
        item?.['out_lock_token'],
        now,
      ]);
      expect((await pool.query(`select 1 from ${schema}.executions`)).rows).toEqual([]);
      expect((await pool.query(`select 1 from ${schema}.orchestrator_queue`)).rows).toEqual([]);
    });
  });

  test('P:T-11 append_history works, and keeps what is there', async () => {
    await withFunctions(async (schema, _, pool) => {
      const append = (data: string) =>
        pool.query(`select ${schema}.append_history('i', 1, $1)`, [
          JSON.stringify([{ event_id: 1, event_type: 'Event', event_data: data }]),
        ]);
      await append('first');
      await append('second');
      const { rows } = await pool.query(`select * from ${schema}.fetch_history_with_execution('i', 1)`);
      expect(rows).toEqual([{ out_event_data: 'first' }]);
    });
  });

  test('P:T-22 queued children of a deleted parent go with it, in both layouts, and nobody else', async () => {
    await withFunctions(async (schema, _, pool) => {
      const child = (instance: string, parent: string) =>
        start(instance).replace('"parent_instance":null', `"parent_instance":"${parent}"`);
      const scheduled = (id: number, instance: string) =>
        pool.query(`insert into ${schema}.history values ('p', 1, $1, 'Event', $2, now())`, [
          id,
          `{"event_id":${id},"type":"SubOrchestrationScheduled","name":"C","instance":"${instance}","input":""}`,
        ]);
      await scheduled(2, 'sub::2');
      await scheduled(3, 'explicit');
      await scheduled(4, 'taken');
      await scheduled(5, 'runs already');
      await scheduled(6, 'broken\\u0000');
      await enqueue(pool, schema, 'p::sub::2', child('p::sub::2', 'p'));
      await enqueue(pool, schema, 'explicit', child('explicit', 'p').replaceAll(':', ': '));
      await enqueue(pool, schema, 'taken', child('taken', 'q'));
      await enqueue(pool, schema, 'runs already', child('runs already', 'p'));
      await pool.query(
        `insert into ${schema}.instances (instance_id, orchestration_name, created_at, updated_at)
         values ('runs already', 'C', now(), now())`,
      );
      const { rows } = await pool.query(`select * from ${schema}.delete_instances_atomic(array['p'], true)`);
      expect(rows).toMatchObject([{ instances_deleted: '0', events_deleted: '5', queue_messages_deleted: '2' }]);
      const left = await pool.query(`select instance_id from ${schema}.orchestrator_queue order by 1`);
      expect(left.rows).toEqual([{ instance_id: 'runs already' }, { instance_id: 'taken' }]);
    });
  });

  test('P:T-19 a session lost in the race costs nothing: the next eligible row is answered', async () => {
    await withFunctions(async (schema, _, pool) => {
      await pool.query(`select ${schema}.enqueue_worker_work('"s"', $1, 'i', 1, 1, 'session')`, [now]);
      await pool.query(`select ${schema}.enqueue_worker_work('"t"', $1, 'i', 1, 2, 'session')`, [now]);
      await pool.query(`select ${schema}.enqueue_worker_work('"free"', $1)`, [now]);
      await withClient((rival) =>
        withClient(async (worker) => {
          await rival.query('begin');
          await rival.query(`insert into ${schema}.sessions values ('session', 'rival', $1::bigint + 9999, 0)`, [now]);
          const { rows: pid } = await worker.query<{ pid: number }>('select pg_backend_pid() as pid');
          const fetched = worker.query(`select * from ${schema}.fetch_work_item($1, 1000, 'me', 1000)`, [now]);
          await waitUntil(async () => {
            const { rows } = await pool.query('select cardinality(pg_blocking_pids($1)) as n', [pid[0]?.pid]);
            return (rows as { n: number }[])[0]?.n === 1;
          });
          await rival.query('commit');
          expect((await fetched).rows).toMatchObject([{ out_work_item: '"free"', out_attempt_count: 1 }]);
        }),
      );
      const { rows } = await pool.query(
        `select attempt_count from ${schema}.worker_queue where session_id is not null`,
      );
      expect(rows).toEqual([{ attempt_count: 0 }, { attempt_count: 0 }]);
    });
  });
});

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('the condition never became true');
}

import { describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import {
  inspectSchema,
  migrateSchema,
  requireMigratedSchema,
  type MigrateOptions,
} from '../../../../src/provider/drizzle/migrate/index.js';
import { NATIVE_MIGRATIONS } from '../../../../src/provider/drizzle/migrate/native-levels.js';
import { createIndexConcurrently } from '../../../../src/provider/drizzle/migrate/additions.js';
import { ownIndexes } from '../../../../src/provider/drizzle/migrate/expected-objects.js';
import type { Driver } from '../../../../src/provider/drizzle/executor.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../../support/database.js';
import { nativeAddon, nativeAvailable, nativeUnavailableReason } from '../../../oracle/addon.js';
import { withDriver } from './support.js';

if (!nativeAvailable) console.log(`skipped: adoption of native schemas (${nativeUnavailableReason})`);
const describeNative = nativeAvailable ? describe : describe.skip;

/** Native's own migration, or its refusal. */
const migrateNatively = (schema: string) => nativeAddon().JsPostgresProvider.connectWithSchema(databaseUrl(), schema);

/** Every definition in a schema, `ddz_` objects left out, the schema's name taken out. */
async function definitions(schema: string): Promise<string[]> {
  const { rows } = await withClient((client) =>
    client.query<{ text: string }>(
      `select format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                     pg_get_expr(d.adbin, d.adrelid)) as text
         from pg_attribute a join pg_class c on c.oid = a.attrelid
         left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where c.relnamespace = $1::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
           and c.relname not like 'ddz\\_%'
       union all
       select pg_get_indexdef(indexrelid) from pg_index join pg_class i on i.oid = indexrelid
         where i.relnamespace = $1::regnamespace and i.relname not like 'ddz\\_%'
       union all
       select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
         where connamespace = $1::regnamespace and contype <> 'n' and conname not like 'ddz\\_%'
       union all
       select pg_get_functiondef(oid) from pg_proc where pronamespace = $1::regnamespace and proname not like 'ddz\\_%'
       union all
       select tgname from pg_trigger join pg_class c on c.oid = tgrelid where c.relnamespace = $1::regnamespace
         and tgname not like 'ddz\\_%'`,
      [schema],
    ),
  );
  return rows.map(({ text }) => text.replaceAll(`${schema}.`, '')).sort();
}

async function withNativeSchema(
  use: (schema: string, driver: Driver, pool: pg.Pool) => Promise<void>,
  alter?: string,
): Promise<void> {
  const schema = uniqueSchema('nat');
  await migrateNatively(schema);
  await withDriver(async (driver, pool) => {
    if (alter) await pool.query(alter.replaceAll('SCHEMA', schema));
    await use(schema, driver, pool);
  });
  await dropSchema(schema);
}

describeNative('adopting a schema that native migrated', () => {
  test('P:1.3 ours and native’s differ in nothing but functions and objects of our own name', async () => {
    await withNativeSchema(async (schema, driver) => {
      const ours = uniqueSchema();
      await migrateSchema(driver, { schema: ours });
      const ofNative = await definitions(schema);
      expect(await definitions(ours)).toEqual(
        ofNative.filter((text) => !text.startsWith('CREATE OR REPLACE') && !text.includes('_duroxide_migrations')),
      );
      await dropSchema(ours);
    });
  });

  test('changes nothing in it, and reports which indexes are missing', async () => {
    await withNativeSchema(async (schema, driver) => {
      const before = await definitions(schema);
      const report = await migrateSchema(driver, { schema });
      expect(report).toMatchObject({ applied: [], sql: [] });
      expect(report.status).toMatchObject({
        origin: 'native',
        refusal: undefined,
        pendingMigrations: [],
        notifyTriggers: false,
        nativeLevel: 23,
      });
      expect(report.status.missingIndexes).toContain('ddz_orch_ready');
      await expect(requireMigratedSchema(driver, { schema })).resolves.toMatchObject({ origin: 'native' });
      expect(await definitions(schema)).toEqual(before);
    });
  });

  test("P:1.4 the migrations that we would record are native's", async () => {
    await withNativeSchema(async (schema, _, pool) => {
      const { rows } = await pool.query(
        `select version::int, name from ${schema}._duroxide_migrations order by version`,
      );
      expect(rows).toEqual(NATIVE_MIGRATIONS);
    });
  });

  test.each([20, 21])('a schema of level %i is adopted', async (level) => {
    await withNativeSchema(async (schema, driver) => {
      expect((await migrateSchema(driver, { schema })).status).toMatchObject({ origin: 'native', nativeLevel: level });
    }, `delete from SCHEMA._duroxide_migrations where version > ${level}`);
  });

  const refused: {
    title: string;
    alter: string;
    kind: string;
    message: RegExp;
    options?: Partial<MigrateOptions>;
  }[] = [
    {
      title: 'older: the last levels are not recorded',
      alter: 'delete from SCHEMA._duroxide_migrations where version >= 19',
      kind: 'older',
      message: /not recorded: 19, 20\); start a current native worker/,
    },
    {
      title: 'older: one in the middle is not recorded',
      alter: 'delete from SCHEMA._duroxide_migrations where version = 12',
      kind: 'older',
      message: /not recorded: 12\)/,
    },
    {
      title: 'older: native has only begun',
      alter: 'drop table SCHEMA.instances, SCHEMA.history; truncate SCHEMA._duroxide_migrations',
      kind: 'older',
      message: /start a current native worker/,
    },
    {
      title: 'newer: the reserved number',
      alter: "insert into SCHEMA._duroxide_migrations values (22, '0022_x.sql')",
      kind: 'newer',
      message: /\(22\); update duroxide-drizzle, or pass allowNewer/,
    },
    {
      title: 'newer: a later level',
      alter: "insert into SCHEMA._duroxide_migrations values (24, '0024_x.sql')",
      kind: 'newer',
      message: /\(24\)/,
    },
    {
      title: 'damaged: a table is gone',
      alter: 'drop table SCHEMA.instances',
      kind: 'damaged',
      message: /table instances is missing; restore/,
    },
    {
      title: 'damaged: a column is gone',
      alter: 'alter table SCHEMA.worker_queue drop column tag',
      kind: 'damaged',
      message: /column worker_queue\.tag is missing/,
    },
    {
      title: 'damaged even if newer levels are allowed',
      alter: "insert into SCHEMA._duroxide_migrations values (24, 'x'); drop table SCHEMA.kv_delta",
      kind: 'damaged',
      message: /table kv_delta is missing/,
      options: { allowNewer: true },
    },
  ];
  test.each(refused)('refused, $title', async ({ alter, kind, message, options }) => {
    await withNativeSchema(async (schema, driver) => {
      const before = await definitions(schema);
      await expect(
        migrateSchema(driver, { schema, adoptIndexes: true, notifyTriggers: true, ...options }),
      ).rejects.toMatchObject({ name: 'SchemaError', kind, schema, message: expect.stringMatching(message) });
      expect(await definitions(schema)).toEqual(before);
    }, alter);
  });

  test('a newer level is used when that is asked for', async () => {
    await withNativeSchema(async (schema, driver) => {
      const { status } = await migrateSchema(driver, { schema, allowNewer: true });
      expect(status).toMatchObject({ origin: 'native', nativeLevel: 24 });
    }, "insert into SCHEMA._duroxide_migrations values (24, '0024_x.sql')");
  });

  test('a schema of ours on which a native worker was started is explained', async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver) => {
      await migrateSchema(driver, { schema });
      await expect(migrateNatively(schema)).rejects.toThrow(
        'last_updated_at_ms',
      );
      await expect(migrateSchema(driver, { schema })).rejects.toMatchObject({
        kind: 'older',
        message: expect.stringMatching(/this package created it, and a native worker.*rename procedure/),
      });
    });
    await dropSchema(schema);
  });

  test('additions whose base is gone are damage, not a fresh schema', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      await migrateSchema(driver, { schema, notifyTriggers: true });
      await pool.query(`drop table ${schema}._duroxide_migrations`);
      await expect(migrateSchema(driver, { schema })).rejects.toMatchObject({ kind: 'damaged' });
    });
  });
});

describeNative('additions to a schema that native migrated', () => {
  const ours = [
    'ddz_executions_status',
    'ddz_instances_created',
    'ddz_instances_custom_status',
    'ddz_instances_name',
    'ddz_instances_prefix',
    'ddz_orch_expired',
    'ddz_orch_ready',
    'ddz_worker_expired',
    'ddz_worker_ready',
  ];

  const indexes = async (pool: pg.Pool, schema: string) => {
    const { rows } = await pool.query<{ name: string; definition: string; valid: boolean }>(
      `select relname as name, replace(pg_get_indexdef(indexrelid), $2, '') as definition, indisvalid as valid
         from pg_index join pg_class i on i.oid = indexrelid
         where relnamespace = $1::regnamespace and relname like 'ddz\\_%' and relname <> 'ddz_migrations_pkey'
           and indrelid::regclass::text !~ 'ddz_' order by 1`,
      [schema, `${schema}.`],
    );
    return rows;
  };

  test('adoptIndexes: the same indexes as in a schema of ours; native accepts the schema afterwards', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      const report = await migrateSchema(driver, { schema, adoptIndexes: true });
      expect([...report.applied].sort()).toEqual(['adopt_indexes', 'ddz_migrations', ...ours].sort());
      expect(report.status).toMatchObject({ origin: 'native', missingIndexes: [], damagedAdditions: [] });
      const own = uniqueSchema();
      await migrateSchema(driver, { schema: own });
      expect(await indexes(pool, schema)).toEqual(await indexes(pool, own));
      await dropSchema(own);
      expect((await migrateSchema(driver, { schema, adoptIndexes: true })).applied).toEqual([]);
      await migrateNatively(schema);
    });
  });

  test('adoptIndexes: a dry run says what would be built, and builds nothing', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      const { sql } = await migrateSchema(driver, { schema, adoptIndexes: true, dryRun: true });
      expect(sql.filter((text) => text.startsWith('create index concurrently if not exists'))).toHaveLength(
        ours.length,
      );
      expect(await indexes(pool, schema)).toEqual([]);
    });
  });

  test('adoptIndexes: an invalid leftover and one with another definition are rebuilt', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      await pool.query(`insert into ${schema}.worker_queue (work_item, visible_at, created_at)
        values ('{}', now(), now()), ('{}', now(), now())`);
      // A unique build over equal rows fails and leaves the invalid index behind, as an interrupted one does.
      await expect(
        pool.query(`create unique index concurrently ddz_worker_ready on ${schema}.worker_queue (work_item)`),
      ).rejects.toThrow('could not create unique index');
      await pool.query(`create index ddz_orch_ready on ${schema}.orchestrator_queue (id)`);
      expect((await inspectSchema(driver, { schema })).missingIndexes).toEqual(
        expect.arrayContaining(['ddz_orch_ready', 'ddz_worker_ready']),
      );
      const { status } = await migrateSchema(driver, { schema, adoptIndexes: true });
      expect(status.missingIndexes).toEqual([]);
      expect(await indexes(pool, schema)).toMatchObject(ours.map((name) => ({ name, valid: true })));
    });
  });

  test('adoptIndexes: what another process builds after the look is not dropped', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      await migrateSchema(driver, { schema, adoptIndexes: true });
      await pool.query(`drop index ${schema}.ddz_worker_ready`);
      const definition = ownIndexes.find(({ name }) => name === 'ddz_worker_ready');
      if (!definition) throw new Error('there is no such index');
      const oid = async () => {
        const { rows } = await pool.query<{ oid: number }>(`select '${schema}.ddz_worker_ready'::regclass::oid`);
        return rows[0]?.oid;
      };
      let transactions = 0;
      let built: number | undefined;
      const slow: Driver = Object.assign(Object.create(driver) as Driver, {
        withTransaction: (...args: Parameters<Driver['withTransaction']>) => {
          transactions++;
          return driver.withTransaction(...args);
        },
        withConnection: async (...args: Parameters<Driver['withConnection']>) => {
          // The first look, then the one under the lock of the table: now it is free again.
          if (transactions === 2 && built === undefined) {
            await pool.query(createIndexConcurrently(schema, definition));
            built = await oid();
          }
          return driver.withConnection(...args);
        },
      });
      expect((await migrateSchema(slow, { schema, adoptIndexes: true })).status.missingIndexes).toEqual([]);
      expect(built).toBeDefined();
      expect(await oid()).toBe(built);
    });
  });

  test('adoptIndexes: what is left of an interrupted adoption is removed', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      await pool.query(`create index ddz_orch_ready on ${schema}.orchestrator_queue (id)`);
      await pool.query(`create index ddz_orch_ready_invalid on ${schema}.orchestrator_queue (id)`);
      await migrateSchema(driver, { schema, adoptIndexes: true });
      expect((await indexes(pool, schema)).map(({ name }) => name)).not.toContain('ddz_orch_ready_invalid');
    });
  });

  test('adoptIndexes: what was set aside is removed also where another process has built the right one', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      await migrateSchema(driver, { schema, adoptIndexes: true });
      await pool.query(`create index ddz_orch_ready_invalid on ${schema}.orchestrator_queue (id)`);
      expect((await migrateSchema(driver, { schema, adoptIndexes: true })).applied).toEqual([]);
      expect(await indexes(pool, schema)).toMatchObject(ours.map((name) => ({ name, valid: true })));
    });
  });

  test('adoptIndexes: three processes at once', async () => {
    await withNativeSchema(async (schema, _, pool) => {
      const reports = await Promise.all(
        Array.from({ length: 3 }, () =>
          withDriver((driver) => migrateSchema(driver, { schema, adoptIndexes: true }), databaseUrl(), 1),
        ),
      );
      for (const { status } of reports) expect(status.missingIndexes).toEqual([]);
      expect(await indexes(pool, schema)).toMatchObject(ours.map((name) => ({ name, valid: true })));
    });
  });

  test('adopted indexes that disappear are reported', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      await migrateSchema(driver, { schema, adoptIndexes: true });
      await pool.query(`drop index ${schema}.ddz_orch_ready`);
      const { status } = await migrateSchema(driver, { schema });
      expect(status).toMatchObject({ missingIndexes: ['ddz_orch_ready'], damagedAdditions: ['adopt_indexes'] });
      expect((await migrateSchema(driver, { schema, adoptIndexes: true })).applied).toEqual(['ddz_orch_ready']);
    });
  });

  test('adoptTables: takes the tables of ours from a migration, and nothing that touches native’s', async () => {
    const migration = {
      name: '0001_ddz_tools',
      statements: [
        'CREATE TABLE "ddz_workers" ("id" text PRIMARY KEY)',
        'CREATE INDEX "ddz_workers_seen" ON "ddz_workers" USING btree ("id")',
        'ALTER TABLE "instances" ADD COLUMN "ddz_x" text',
      ],
    };
    await withNativeSchema(async (schema, driver) => {
      const before = await definitions(schema);
      const migrations = [{ name: '0000_base', statements: ['select 1'] }, migration];
      expect((await migrateSchema(driver, { schema, migrations })).status.missingTables).toEqual(['0001_ddz_tools']);
      const { applied, status } = await migrateSchema(driver, { schema, migrations, adoptTables: true });
      expect(applied).toEqual(['ddz_migrations', '0001_ddz_tools']);
      expect(status.missingTables).toEqual([]);
      expect((await migrateSchema(driver, { schema, migrations, adoptTables: true })).applied).toEqual([]);
      expect(await definitions(schema)).toEqual(before);
    });
  });

  test('notifyTriggers: what a native worker enqueues is heard, delayed rows are not', async () => {
    await withNativeSchema(async (schema, driver, pool) => {
      const { status } = await migrateSchema(driver, { schema, notifyTriggers: true });
      expect(status.notifyTriggers).toBe(true);
      const heard: string[] = [];
      await withClient(async (listener) => {
        listener.on('notification', ({ payload }) => heard.push(payload ?? ''));
        const { rows } = await pool.query<{ text: string }>(
          `select prosrc as text from pg_proc where proname = 'ddz_notify' and pronamespace = $1::regnamespace`,
          [schema],
        );
        const channel = /pg_notify\('(\w+)'/.exec(rows[0]?.text ?? '')?.[1];
        await listener.query(`listen ${channel}`);
        await pool.query(`select ${schema}.enqueue_orchestrator_work('i', '{}', now() + interval '1 hour')`);
        await pool.query(`select ${schema}.enqueue_orchestrator_work('i', '{}', now())`);
        await pool.query(`select ${schema}.enqueue_worker_work('{}', 1)`);
        // Notifications arrive in commit order before the answer of a later query.
        await listener.query('select 1');
      });
      expect(heard).toEqual(['o', 'w']);
    });
  });
});

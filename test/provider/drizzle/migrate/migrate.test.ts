import { describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as drizzleMigrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { driverFor } from '../../../../src/provider/drizzle/drivers/index.js';
import {
  inspectSchema,
  migrateSchema,
  migrationLockKey,
  requireMigratedSchema,
  SchemaError,
} from '../../../../src/provider/drizzle/migrate/index.js';
import { builtInMigrations } from '../../../../src/schema/migrations.generated.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../../support/database.js';
import { withDriver } from './support.js';

const names = builtInMigrations.map(({ name }) => name);

async function records(schema: string): Promise<string[]> {
  const { rows } = await withClient((client) =>
    client.query<{ name: string }>(`select name from ${schema}.ddz_migrations order by name`),
  );
  return rows.map(({ name }) => name);
}

async function relations(schema: string): Promise<string[]> {
  const { rows } = await withClient((client) =>
    client.query<{ relname: string }>('select relname from pg_class where relnamespace = $1::regnamespace order by 1', [
      schema,
    ]),
  );
  return rows.map(({ relname }) => relname);
}

describe('migrate: a fresh schema', () => {
  test.each([
    ['public', 3191286213066983517n],
    ['my_app', -3223183224753204682n],
    ['spec_c', -125491835938655127n],
  ])("P:1.6 the key of the migration lock for %s is native's", (schema, key) => {
    expect(migrationLockKey(schema)).toBe(key);
  });

  test('creates schema, tables and indexes, records them, and does nothing the second time', async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver) => {
      const first = await migrateSchema(driver, { schema });
      expect(first.applied).toEqual(['schema', 'ddz_migrations', ...names]);
      expect(first.status).toMatchObject({
        origin: 'ours',
        refusal: undefined,
        pendingMigrations: [],
        missingIndexes: [],
      });
      const before = await relations(schema);
      const second = await migrateSchema(driver, { schema, adoptIndexes: true });
      expect(second).toMatchObject({ applied: [], sql: [], status: { origin: 'ours' } });
      expect(await relations(schema)).toEqual(before);
    });
    expect(await records(schema)).toEqual(names);
    await dropSchema(schema);
  });

  test('P:1.4 writes nothing into the bookkeeping of native', async () => {
    const schema = uniqueSchema();
    await withDriver((driver) => migrateSchema(driver, { schema }));
    expect(await relations(schema)).not.toContain('_duroxide_migrations');
    await dropSchema(schema);
  });

  test('a dry run changes nothing, and its SQL run by hand gives the same schema', async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver) => {
      const { applied, sql, status } = await migrateSchema(driver, { schema, dryRun: true });
      expect(applied).toEqual(['schema', 'ddz_migrations', ...names]);
      expect(status.origin).toBe('absent');
      expect(await inspectSchema(driver, { schema })).toMatchObject({ origin: 'absent', pendingMigrations: names });
      await withClient((client) => client.query(`begin; ${sql.join(';\n')}; commit`));
      expect(await migrateSchema(driver, { schema })).toMatchObject({ applied: [], status: { origin: 'ours' } });
    });
    await dropSchema(schema);
  });

  test('the files in drizzle/, run one by one by any tool, give the same schema', async () => {
    const [byHand, migrated] = [uniqueSchema(), uniqueSchema()];
    const files = (await readdir('drizzle')).filter((file) => file.endsWith('.sql')).sort();
    expect(files).toEqual(names.map((name) => `${name}.sql`));
    await withDriver(async (driver) => {
      await withClient(async (client) => {
        await client.query(`create schema ${byHand}; set search_path to ${byHand}`);
        for (const [at, file] of files.entries()) {
          await client.query(await readFile(path.join('drizzle', file), 'utf8'));
          // Every state between is one that our migrator can go on from.
          expect(await inspectSchema(driver, { schema: byHand })).toMatchObject({
            origin: 'ours',
            pendingMigrations: names.slice(at + 1),
          });
        }
      });
      await migrateSchema(driver, { schema: migrated });
      expect(await requireMigratedSchema(driver, { schema: byHand })).toEqual({
        ...(await inspectSchema(driver, { schema: migrated })),
        schema: byHand,
      });
      expect(await migrateSchema(driver, { schema: byHand })).toMatchObject({ applied: [], sql: [] });
    });
    expect(await relations(byHand)).toEqual(await relations(migrated));
    expect(await records(byHand)).toEqual(names);
    await dropSchema(byHand);
    await dropSchema(migrated);
  });

  test('Drizzle’s own migrator runs the files, too', async () => {
    const schema = uniqueSchema();
    const url = new URL(databaseUrl());
    url.searchParams.set('options', `-c search_path=${schema}`);
    await withClient((client) => client.query(`create schema ${schema}`));
    await withDriver(
      async (_driver, pool) => {
        const migrationsSchema = schema;
        await drizzleMigrate(drizzle(pool), { migrationsFolder: 'drizzle', migrationsSchema });
      },
      url.toString(),
      1,
    );
    await withDriver((driver) => requireMigratedSchema(driver, { schema }));
    await dropSchema(schema);
  });

  test('looks only: a provider that must not migrate is told what is pending', async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver) => {
      await expect(requireMigratedSchema(driver, { schema })).rejects.toMatchObject({
        kind: 'pending',
        message: expect.stringContaining(`npx duroxide-drizzle migrate --schema ${schema}`),
      });
      await migrateSchema(driver, { schema });
      await expect(requireMigratedSchema(driver, { schema })).resolves.toMatchObject({ origin: 'ours' });
    });
    await dropSchema(schema);
  });

  test('a failing migration leaves nothing behind', async () => {
    const schema = uniqueSchema();
    const migrations = [...builtInMigrations, { name: '9998_broken', statements: ['select 1/0'] }];
    await withDriver(async (driver) => {
      await expect(migrateSchema(driver, { schema, migrations })).rejects.toThrow('division by zero');
      expect(await inspectSchema(driver, { schema })).toMatchObject({ origin: 'absent' });
    });
    await withClient(async (client) => {
      const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
      expect(rows).toEqual([]);
    });
  });
});

describe('migrate: our own older and newer schemas', () => {
  const later = { name: '9999_later', statements: ['alter table "instances" add column "ddz_later" text'] };

  test('an older schema of ours gets what is pending, and keeps its rows', async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver, pool) => {
      await migrateSchema(driver, { schema });
      await pool.query(`insert into ${schema}.sessions values ('s', 'w', 1, 1)`);
      const migrations = [...builtInMigrations, later];
      const { applied } = await migrateSchema(driver, { schema, migrations });
      expect(applied).toEqual(['9999_later']);
      expect((await pool.query(`select ddz_later from ${schema}.instances`)).rows).toEqual([]);
      expect((await pool.query(`select session_id from ${schema}.sessions`)).rows).toEqual([{ session_id: 's' }]);
    });
    await dropSchema(schema);
  });

  test('a schema of a newer version of ours is refused', async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver) => {
      await migrateSchema(driver, { schema, migrations: [...builtInMigrations, later] });
      const refusal = { kind: 'newer', message: expect.stringMatching(/9999_later.*update this package/) };
      await expect(migrateSchema(driver, { schema })).rejects.toMatchObject(refusal);
      await expect(requireMigratedSchema(driver, { schema })).rejects.toMatchObject(refusal);
    });
    await dropSchema(schema);
  });

  test.each([
    ['a table is missing', 'drop table kv_delta', /table kv_delta is missing/],
    ['a column is missing', 'alter table history drop column event_data', /column history\.event_data is missing/],
    [
      'a column has another type',
      'alter table executions alter column output type varchar(10)',
      /executions\.output is character varying\(10\) instead of text/,
    ],
    [
      'a foreign column must be filled',
      'alter table instances add column tenant text not null',
      /instances\.tenant is unknown and must be filled/,
    ],
  ])('a damaged schema of ours is refused: %s', async (_, sql, message) => {
    const schema = uniqueSchema();
    await withDriver(async (driver, pool) => {
      await migrateSchema(driver, { schema });
      await pool.query(`set search_path to ${schema}; ${sql}; reset search_path`);
      await expect(migrateSchema(driver, { schema })).rejects.toMatchObject({
        kind: 'damaged',
        message: expect.stringMatching(message),
      });
    });
    await dropSchema(schema);
  });

  test("a table of the application's with one of our names is never taken over", async () => {
    const schema = uniqueSchema();
    await withDriver(async (driver, pool) => {
      await pool.query(`create schema ${schema} create table sessions (sid text primary key)`);
      const error: unknown = await migrateSchema(driver, { schema }).catch((e: unknown) => e);
      expect(SchemaError.is(error)).toBe(true);
      expect(error).toMatchObject({ kind: 'occupied', schema, message: expect.stringContaining('sessions') });
    });
    expect(await relations(schema)).toEqual(['sessions', 'sessions_pkey']);
    await dropSchema(schema);
  });
});

describe('migrate: many at once', () => {
  test('C-16 P:XR-3 twelve connections start at once on a fresh schema, twenty times over', async () => {
    const pools = Array.from({ length: 12 }, () => new pg.Pool({ connectionString: databaseUrl(), max: 1 }));
    const drivers = pools.map((pool) => driverFor(drizzle(pool)));
    try {
      for (let round = 0; round < 20; round++) {
        const schema = uniqueSchema();
        const reports = await Promise.all(drivers.map((driver) => migrateSchema(driver, { schema })));
        expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
        expect(reports.map(({ status }) => status.origin)).toEqual(reports.map(() => 'ours'));
        expect(await records(schema)).toEqual(names);
        await dropSchema(schema);
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
  });

  test('C-16 twelve processes start at once on a fresh schema', async () => {
    const schema = uniqueSchema();
    const child = fileURLToPath(new URL('./migrate-child.ts', import.meta.url));
    const children = Array.from({ length: 12 }, () => {
      const process_ = spawn(process.execPath, ['--import', 'tsx', child, databaseUrl(), schema]);
      let output = '';
      for (const stream of [process_.stdout, process_.stderr]) {
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      }
      const ready = new Promise<void>((resolve) => process_.stdout.once('data', () => resolve()));
      const exit = new Promise<number | null>((resolve) => process_.once('exit', resolve));
      return { ready: Promise.race([ready, exit]), exit, output: () => output, go: () => process_.stdin.end('go\n') };
    });
    await Promise.all(children.map(({ ready }) => ready));
    children.forEach(({ go }) => go());
    await Promise.all(children.map(({ exit }) => exit));
    expect(children.map(({ output }) => output())).toEqual(children.map(() => 'ready\ndone\n'));
    expect(await records(schema)).toEqual(names);
    await dropSchema(schema);
  });

  test("P:1.6 waits for native's session-level migration lock", async () => {
    const schema = uniqueSchema();
    await withClient(async (native) => {
      const key = migrationLockKey(schema).toString();
      await native.query('select pg_advisory_lock($1)', [key]);
      await withDriver(async (driver, pool) => {
        const migration = migrateSchema(driver, { schema });
        await waitUntilBlocked(pool, native);
        expect((await pool.query('select 1 from pg_namespace where nspname = $1', [schema])).rows).toEqual([]);
        await native.query('select pg_advisory_unlock($1)', [key]);
        expect((await migration).status.origin).toBe('ours');
      });
    });
    await dropSchema(schema);
  });
});

/** Until some backend waits for a lock that `holder` has. */
async function waitUntilBlocked(
  observer: { query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> },
  holder: { query<R extends object>(text: string): Promise<{ rows: R[] }> },
): Promise<void> {
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid;
  for (let tries = 0; tries < 1000; tries++) {
    const waiting = await observer.query('select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [pid]);
    if (waiting.rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('nobody waits for the lock');
}

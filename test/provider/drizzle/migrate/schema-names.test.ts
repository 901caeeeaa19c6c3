import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { Driver } from '../../../../src/provider/drizzle/executor.js';
import { cleanupSchema, inspectSchema, migrateSchema } from '../../../../src/provider/drizzle/migrate/index.js';
import { notifyChannel } from '../../../../src/schema/notify-channel.js';
import { databaseUrl, withClient } from '../../../support/database.js';
import { withDriver } from './support.js';

/** A database of its own, because `public` and `select` are names that tests would share. */
async function inOwnDatabase(use: (url: string) => Promise<void>): Promise<void> {
  const name = `ddz_names_${randomBytes(5).toString('hex')}`;
  await withClient((client) => client.query(`create database ${name}`));
  const url = new URL(databaseUrl());
  url.pathname = `/${name}`;
  await use(url.toString());
  await withClient((client) => client.query(`drop database ${name} with (force)`));
}

const untouchable = new Proxy({} as Driver, {
  get: (_, property) => () => {
    throw new Error(`the driver was used: ${String(property)}`);
  },
});

describe('C-17 schema names', () => {
  test.each(['select', 'public'])(
    '%s: created, migrated twice, notified and cleaned up, and the application keeps its own',
    async (schema) => {
      await inOwnDatabase((url) =>
        withDriver(async (driver, pool) => {
          await pool.query('create table public.customers (id int)');
          await migrateSchema(driver, { schema, notifyTriggers: true });
          expect((await migrateSchema(driver, { schema, notifyTriggers: true })).applied).toEqual([]);

          const heard = await withClient(async (listener) => {
            const notification = new Promise((resolve) => listener.once('notification', resolve));
            await listener.query(`listen "${notifyChannel(schema)}"`);
            await pool.query(
              `insert into "${schema}".worker_queue (work_item, visible_at, created_at) values ('{}', now(), now())`,
            );
            return notification;
          }, url);
          expect(heard).toMatchObject({ channel: notifyChannel(schema), payload: 'w' });

          await driver.withTransaction((tx) => cleanupSchema(tx, schema));
          expect(await inspectSchema(driver, { schema })).toMatchObject({ origin: 'absent', refusal: undefined });
          const { rows } = await pool.query(
            `select relname from pg_class where relkind = 'r' and relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
             union all select proname from pg_proc where pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema')`,
          );
          expect(rows).toEqual([{ relname: 'customers' }]);
          await migrateSchema(driver, { schema });
        }, url),
      );
    },
  );

  test.each(['My-Schema', 'sel ect', 'x"y', "o'brien", 'a$$b', 'a.b', 'schéma', '1abc'])(
    '%j is refused before any SQL',
    async (schema) => {
      await expect(migrateSchema(untouchable, { schema })).rejects.toThrow(/invalid schema name/);
      await expect(inspectSchema(untouchable, { schema })).rejects.toThrow(/invalid schema name/);
      await expect(cleanupSchema(untouchable as never, schema)).rejects.toThrow(/invalid schema name/);
    },
  );
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import {
  migrateSchema,
  requireMigratedSchema,
  type SchemaError,
} from '../../../../src/provider/drizzle/migrate/index.js';
import { builtInMigrations } from '../../../../src/schema/migrations.generated.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../../support/database.js';
import { withDriver } from './support.js';

const role = `ddz_app_${randomBytes(5).toString('hex')}`;
const roleUrl = new URL(databaseUrl());
roleUrl.username = role;
roleUrl.password = 'app';
const later = { name: '9999_later', statements: ['create table "ddz_later" (id int)'] };

beforeAll(() => withClient((client) => client.query(`create role ${role} login password 'app'`)));
afterAll(() => withClient((client) => client.query(`drop owned by ${role}; drop role ${role}`)));

/** What the README tells an administrator to grant to the role of an application. */
async function grant(schema: string): Promise<void> {
  await withClient((client) =>
    client.query(
      `grant usage on schema ${schema} to ${role};
       grant select, insert, update, delete on all tables in schema ${schema} to ${role};
       grant usage on all sequences in schema ${schema} to ${role}`,
    ),
  );
}

const asRole = <T>(use: Parameters<typeof withDriver<T>>[0]) => withDriver(use, roleUrl.toString());

describe('C-18 a role that may not create anything', () => {
  test('starts on a schema that its owner migrated, and uses it', async () => {
    const schema = uniqueSchema();
    await withDriver((driver) => migrateSchema(driver, { schema }));
    await grant(schema);
    await asRole(async (driver, pool) => {
      expect(await migrateSchema(driver, { schema })).toMatchObject({ applied: [], status: { origin: 'ours' } });
      await pool.query(
        `insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at) values ('i', '{}', now(), now())`,
      );
    });
    await dropSchema(schema);
  });

  test('is told what is pending and what to run', async () => {
    const schema = uniqueSchema();
    await withDriver((driver) => migrateSchema(driver, { schema }));
    await grant(schema);
    const error = await asRole((driver) =>
      migrateSchema(driver, { schema, migrations: [...builtInMigrations, later] }).catch((e: unknown) => e),
    );
    expect(error).toMatchObject({ kind: 'notPermitted', schema });
    const { message } = error as SchemaError;
    expect(message).toContain('9999_later');
    expect(message).not.toContain('0000_base');
    expect(message).toContain(`npx duroxide-drizzle migrate --schema ${schema}`);
    await dropSchema(schema);
  });

  test('is told the same where there is no schema yet', async () => {
    const schema = uniqueSchema();
    const error = await asRole((driver) => migrateSchema(driver, { schema }).catch((e: unknown) => e));
    expect(error).toMatchObject({ kind: 'notPermitted', message: expect.stringContaining('0000_base') });
  });

  test('is told what to grant when it may not even read', async () => {
    const schema = uniqueSchema();
    await withDriver((driver) => migrateSchema(driver, { schema }));
    for (const look of [migrateSchema, requireMigratedSchema]) {
      const error = await asRole((driver) => look(driver, { schema }).catch((e: unknown) => e));
      expect(error).toMatchObject({ kind: 'notPermitted', message: expect.stringContaining('grant usage on schema') });
    }
    await dropSchema(schema);
  });

  test('may migrate a schema that an administrator made for it', async () => {
    const schema = uniqueSchema();
    await withClient((client) => client.query(`create schema ${schema} authorization ${role}`));
    await asRole(async (driver) => {
      const { applied, status } = await migrateSchema(driver, { schema });
      expect(applied).not.toContain('schema');
      expect(status).toMatchObject({ origin: 'ours', pendingMigrations: [] });
    });
    await dropSchema(schema);
  });
});

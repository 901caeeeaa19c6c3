import { describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { cleanupSchema, migrateSchema } from '../../../../src/provider/drizzle/migrate/index.js';
import { nativeAddon, nativeAvailable, nativeUnavailableReason } from '../../../oracle/addon.js';
import { inOwnDatabase } from '../../../support/own-database.js';
import { withDriver } from './support.js';

const DROPPABLE = `select p.proname as name from pg_proc p where p.pronamespace = 'public'::regnamespace order by 1`;

async function functions(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(DROPPABLE);
  return rows.map(({ name }) => name);
}

/** With names and arguments of duroxide's, as an application could have had them first. */
const APPLICATION_FUNCTIONS = `
  create table public.orders (id int);
  create function public.list_instances() returns int language sql as 'select 1';
  create function public.list_children(text) returns int language plpgsql as $$ begin return (select count(*) from public.orders); end $$;
  create function public.enqueue_message(text, text, bigint, bigint) returns int language plpgsql as $$ begin
    -- the instances of executions in my_public.history, and public.history_of_orders
    return 4; end $$`;

describe('P:1.7 cleaning up `public`, which belongs to the application, too', () => {
  test("functions of the application's with duroxide's names and arguments stay", async () => {
    await inOwnDatabase((url) =>
      withDriver(async (driver, pool) => {
        await pool.query(APPLICATION_FUNCTIONS);
        await migrateSchema(driver, { schema: 'public' });
        await driver.withTransaction((tx) => cleanupSchema(tx, 'public'));
        expect(await functions(pool)).toEqual(['enqueue_message', 'list_children', 'list_instances']);
        const { rows } = await pool.query('select list_instances(), list_children($1)', ['x']);
        expect(rows).toEqual([{ list_instances: 1, list_children: 0 }]);
      }, url),
    );
  });

  test.each([
    { by: 'the provider', clean: undefined },
    { by: 'the stored function', clean: 'select public.cleanup_schema()' },
  ])('our stored functions go, one that the application put in the place of ours stays: by $by', async ({ clean }) => {
    await inOwnDatabase((url) =>
      withDriver(async (driver, pool) => {
        await migrateSchema(driver, { schema: 'public', storedFunctions: true, notifyTriggers: true });
        await pool.query(`drop function public.list_instances();
          create function public.list_instances() returns int language plpgsql as $$ begin return 7; end $$`);
        if (clean === undefined) await driver.withTransaction((tx) => cleanupSchema(tx, 'public'));
        else await pool.query(clean);
        expect(await functions(pool)).toEqual(['list_instances']);
      }, url),
    );
  });

  (nativeAvailable ? test : test.skip)(
    `native's functions go, those that nobody calls included ${nativeUnavailableReason}`,
    async () => {
      await inOwnDatabase(async (url) => {
        await nativeAddon().JsPostgresProvider.connectWithSchema(url, 'public');
        await withDriver(async (driver, pool) => {
          expect((await functions(pool)).length).toBeGreaterThan(30);
          await driver.withTransaction((tx) => cleanupSchema(tx, 'public'));
          expect(await functions(pool)).toEqual([]);
        }, url);
      });
    },
  );
});

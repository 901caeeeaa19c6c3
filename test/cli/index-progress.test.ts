import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { askIndexBuilds } from '../../src/cli/index-progress.js';
import { openDatabase } from '../../src/cli/store.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { waitFor } from '../support/waiting.js';

const schema = uniqueSchema('cli');
beforeAll(() => withClient((client) => client.query(`create schema ${schema}; create table ${schema}.things (n int)`)));
afterAll(() => dropSchema(schema));

test('an index that is being built is told with its table and phase', async () => {
  const { driver, close } = await openDatabase({ kind: 'postgres', url: databaseUrl() });
  const builds = () => driver.withConnection((executor) => askIndexBuilds(executor, schema));
  expect(await builds()).toEqual([]);
  await withClient(async (writer) => {
    await writer.query(`begin; insert into ${schema}.things values (1)`);
    await withClient(async (builder) => {
      // It waits for the writer, for as long as that likes.
      const built = builder.query(`create index concurrently things_n on ${schema}.things (n)`);
      await waitFor('the index waits', async () => (await builds())[0]?.phase === 'waiting for writers before build');
      expect(await builds()).toEqual([
        { table: 'things', phase: 'waiting for writers before build', done: 0, total: 1 },
      ]);
      await writer.query('commit');
      await built;
    });
  });
  expect(await builds()).toEqual([]);
  await close();
});

/** Migrates a schema in a process of its own: says `ready`, waits for a line, migrates, says `done`. */
import { once } from 'node:events';
import { migrateSchema } from '../../../../src/provider/drizzle/migrate/index.js';
import { withDriver } from './support.js';

const [url, schema] = process.argv.slice(2);
if (!url || !schema) throw new Error('usage: migrate-child <url> <schema>');
await withDriver(
  async (driver, pool) => {
    await pool.query('select 1');
    console.log('ready');
    await once(process.stdin, 'data');
    await migrateSchema(driver, { schema });
  },
  url,
  1,
);
console.log('done');
process.exit(0);

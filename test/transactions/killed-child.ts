/**
 * A worker in a process of its own that takes one activity and runs it, with no loops, so
 * that the statements it sends are the same each time: says `loaded`, waits for a line,
 * connects, says `ready`, waits for a line, looks once, says `done`.
 */
import { once } from 'node:events';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { SystemClock } from '../../src/base/clock.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../src/provider/stored-function/index.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { payment } from './payment.js';

const [url, schema, provides] = process.argv.slice(2);
if (!url || !schema) throw new Error('usage: killed-child <url> <schema> [functions]');
console.log('loaded');
await once(process.stdin, 'data');
const pool = new pg.Pool({ connectionString: url, max: 4 });
const Provider = provides === 'functions' ? StoredFunctionProvider : DrizzleProvider;
const provider = await Provider.fromDrizzle(drizzle(pool), {
  schema,
  logger: silentLogger,
  clock: new SystemClock(),
  migrate: false,
  notifications: false,
});
const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
runtime.register(payment(schema));
const { parts } = runtime['prepare']();
console.log('ready');
await once(process.stdin, 'data');
await parts.activities.runOnce();
console.log('done');
process.exit(0);

/**
 * Run by a test as a process of its own: blocks its event loop, in a turn or in an activity,
 * until a file appears. Prints what happened, one JSON text per line.
 */
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import pg from 'pg';
import postgres from 'postgres';
import { Client } from '../../../src/client/client.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { StoredFunctionProvider } from '../../../src/provider/stored-function/index.js';
import { Runtime } from '../../../src/runtime/runtime.js';
import type { RuntimeOptions } from '../../../src/runtime/options.js';

interface Job {
  readonly url: string;
  readonly schema: string;
  readonly releaseFile: string;
  readonly storedFunctions: boolean;
  /** How the application connects. */
  readonly via: 'url' | 'pool' | 'postgres-js';
  readonly options: RuntimeOptions;
}

const { url, schema, releaseFile, storedFunctions, via, options } = JSON.parse(process.argv[2] ?? '{}') as Job;
const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Really blocks: no timer, no I/O, no promise of this thread goes on. */
function block(): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(releaseFile)) Atomics.wait(cell, 0, 0, 20);
}

const Provider = storedFunctions ? StoredFunctionProvider : DrizzleProvider;

async function connect(): Promise<DrizzleProvider> {
  const given = { schema, migrate: false };
  if (via === 'url') return Provider.connect(url, given);
  if (via === 'postgres-js') return Provider.fromDrizzle({ $client: postgres(url, { max: 3 }) }, given);
  // A password that has to be asked for, as tokens are.
  return Provider.fromPool(new pg.Pool({ connectionString: url, max: 3, password: async () => 'asked for' }), given);
}

const provider = await connect();
const report = (level: string) => (fields: object, message: string) => print({ level, message, ...fields });
const logger = { debug() {}, info: report('info'), warn: report('warn'), error: report('error') };
const runtime = new Runtime(provider, { logLevel: 'off', logger, ...options });
runtime.registerActivity('Block', () => {
  print({ blocked: 'activity' });
  block();
  return 'by the one that was blocked';
});
runtime.registerOrchestration('BlockActivity', function* (ctx) {
  return yield ctx.scheduleActivity('Block');
});
runtime.registerOrchestration('BlockSession', function* (ctx) {
  return yield ctx.scheduleActivityOnSession('Block', null, 'session');
});
// eslint-disable-next-line require-yield -- the first stretch of it is what blocks
runtime.registerOrchestration('BlockTurn', function* (_ctx, name: string) {
  print({ blocked: 'turn' });
  block();
  return `${name}: by the one that was blocked`;
});
await runtime.start();
print({ started: true });
// The test says when to end.
await once(process.stdin, 'data');
const metrics = runtime.metricsSnapshot();
await new Client(provider).getStatus('blocked');
await runtime.shutdown();
await provider.close();
print({ metrics });
process.exit(0);

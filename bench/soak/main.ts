/**
 * `npm run soak`: every kind of instance, for as long as wanted (`-- --minutes 30`), on a
 * PostgreSQL of its own with default settings. Fails when something grows that should not.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { startPostgresServer } from '../../test/support/postgres-server.js';
import { describeEnvironment, printEnvironment } from '../harness/environment.js';
import { printGoals } from '../harness/goal.js';
import { formatTable } from '../harness/table.js';
import { inputOf, KINDS, registerSoakPrograms } from './programs.js';
import { type Sample, takeSample } from './sample.js';
import { growthOf, heapGoal } from './verdict.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    'in-flight': { type: 'string', default: '50' },
    json: { type: 'string' },
  },
});
const minutes = positive('--minutes', values.minutes);
const inFlight = positive('--in-flight', values['in-flight']);
const schema = 'soak';
/** Finished instances are deleted after so long, so that the store has a size that it can keep. */
const KEEP_MS = Math.min(60_000, minutes * 10_000);

const server = await startPostgresServer();
const control = new pg.Client({ connectionString: server.url });
await control.connect();
printEnvironment(await describeEnvironment(server.url), 0);
const provider = await DrizzleProvider.connect(server.url, { schema, logger: silentLogger });
const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
registerSoakPrograms(runtime);
await runtime.start();
const client = new Client(provider);

const startMs = performance.now();
const endMs = startMs + minutes * 60_000;
let started = 0;
let completed = 0;
let latenciesMs: number[] = [];
const slot = async () => {
  while (performance.now() < endMs) {
    const n = started++;
    const kind = KINDS[n % KINDS.length] ?? 'hello';
    const id = `soak-${n}`;
    const beginMs = performance.now();
    await client.startOrchestration(id, kind, inputOf(kind, n));
    const { status, error } = await client.waitForOrchestration(id, 120_000);
    if (status !== 'Completed') throw new Error(`${id} (${kind}) ended as ${status}: ${error}`);
    completed++;
    if (latenciesMs.length < 20_000) latenciesMs.push(performance.now() - beginMs);
  }
};
const load = Promise.all(Array.from({ length: inFlight }, slot));
const samples: Sample[] = [];
const everyMs = Math.max(2_000, (minutes * 60_000) / 60);
const observe = async () => {
  while (performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, everyMs));
    await client.deleteInstanceBulk({ completedBefore: Date.now() - KEEP_MS, limit: 100_000 });
    const sample = await takeSample(control, schema, { startMs, completed, latenciesMs });
    latenciesMs = [];
    samples.push(sample);
    console.log(JSON.stringify(sample));
  }
};
await Promise.all([load, observe()]);
await runtime.shutdown();
await provider.close();
await control.end();
await server.destroy();

const shown = samples.filter((_, n) => n % Math.ceil(samples.length / 12) === 0 || n === samples.length - 1);
console.log(
  formatTable(
    ['s', 'heap MB', 'RSS MB', 'handles', 'queued', 'queue MB', 'dead rows', 'completed', 'p50 ms', 'p95 ms'],
    shown.map((s) => [
      ...[s.atSeconds, s.heapMb, s.rssMb, s.handles, s.queueRows],
      ...[s.queueMb, s.deadRows, s.completed, s.p50Ms, s.p95Ms],
    ]),
  ),
);
const problems = growthOf(samples, inFlight);
const goal = heapGoal(samples);
printGoals([goal]);
if (values.json)
  await writeFile(values.json, `${JSON.stringify({ minutes, inFlight, samples, problems, goal }, undefined, 2)}\n`);
for (const problem of problems) console.error(`GREW  ${problem}`);
console.log(problems.length === 0 ? 'nothing grew' : `${problems.length} things grew`);
process.exit(problems.length === 0 ? 0 : 1);

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  console.error(`${name}: expected a number above 0, got '${text}'`);
  process.exit(2);
}

/**
 * `npm run bench:fetch`: how fast orchestration items are fetched and acknowledged, by
 * native's stored function, by ours, and by DrizzleProvider in batches of 1, 10 and 50.
 * Starts a PostgreSQL of its own with default settings.
 */
import { writeFile } from 'node:fs/promises';
import pg from 'pg';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../../test/oracle/native.js';
import { startPostgresServer } from '../../test/support/postgres-server.js';
import { benchArguments, isWanted } from '../harness/arguments.js';
import { CpuMeter } from '../harness/cpu.js';
import { startDelayProxy } from '../harness/delay-proxy.js';
import { describeEnvironment, printEnvironment } from '../harness/environment.js';
import { printGoals } from '../harness/goal.js';
import { median } from '../harness/statistics.js';
import { formatTable, short } from '../harness/table.js';
import { Backlog } from './backlog.js';
import type { Cell } from './cell.js';
import type { Contestant, Fetcher } from './contestant.js';
import { compareFetcherCounts, type FetcherCounts, goalOfCounts } from './fetcher-counts.js';
import { drizzleContestant } from './drizzle-contestant.js';
import { goalsOf } from './goals.js';
import { measure, type Measurement } from './measure.js';
import { storedFunctionContestant } from './stored-function-contestant.js';

interface Setting {
  readonly backlog: number;
  readonly withAck: boolean;
  readonly withVersionFilter: boolean;
  readonly delayMs: number;
  readonly fetchers: number;
}

const args = benchArguments();
const NATIVE = "native's function";
const SCHEMAS = { native: 'bench_native', ours: 'bench_ours' };
const contestants = [
  ...(nativeAvailable ? [storedFunctionContestant(NATIVE, 'native')] : []),
  storedFunctionContestant('our function', 'ours'),
  ...[1, 10, 50].map(drizzleContestant),
];
/** Calls per connection before it is measured: the server decides about plans in the first five, V8 in the first hundreds. */
const WARM_UP_CALLS = 200;

const server = await startPostgresServer();
const cpu = new CpuMeter(server.dataDir);
const control = new pg.Client({ connectionString: server.url });
await control.connect();
const environment = await describeEnvironment(server.url);
printEnvironment(environment, args.seed);
if (!nativeAvailable) console.log(`without native: ${nativeUnavailableReason}`);
if (nativeAvailable) await connectNative(server.url, SCHEMAS.native);
await migrateOurs();

const cells: Cell[] = [];
for (const backlog of args.quick ? [3_000] : [3_000, 100_000]) {
  const backlogs = {
    native: new Backlog(control, SCHEMAS.native, backlog),
    ours: new Backlog(control, SCHEMAS.ours, backlog),
  };
  if (nativeAvailable) await backlogs.native.create();
  await backlogs.ours.create();
  for (const setting of settingsOf(backlog)) {
    const title = `${setting.withAck ? 'fetch + ack' : 'fetch'}, backlog ${backlog}, ${setting.fetchers} fetchers${
      setting.withVersionFilter ? ', version filter' : ''
    }${setting.delayMs > 0 ? `, ${setting.delayMs} ms each way` : ''}`;
    if (!isWanted(args, title)) continue;
    const results = await runSetting(setting, backlogs);
    console.log(`\n${title}`);
    console.log(
      formatTable(
        ['', 'items/s', 'of native', 'call ms p50', 'p95', 'CPU ms/item server', 'client'],
        results.map((cell) => [
          cell.contestant,
          short(cell.itemsPerSecond),
          cell.ofNative === undefined ? '' : short(cell.ofNative),
          short(cell.callMsP50),
          short(cell.callMsP95),
          short(cell.serverCpuMs),
          short(cell.clientCpuMs),
        ]),
      ),
    );
    cells.push(...results);
  }
}

const counts: FetcherCounts[] = [];
const COUNTS_TITLE = 'numbers of fetchers, taking turns';
if (isWanted(args, COUNTS_TITLE)) {
  const backlog = new Backlog(control, SCHEMAS.ours, 3_000);
  await backlog.create();
  const params = { url: server.url, schema: SCHEMAS.ours, backlog, cpu, rounds: args.quick ? 2 : 9 };
  for (const limit of [10, 50]) {
    for (const withVersionFilter of [false, true]) {
      counts.push(await compareFetcherCounts(params, { limit, withVersionFilter }));
    }
  }
  console.log(`\n${COUNTS_TITLE}: items/s of DrizzleProvider, backlog 3,000`);
  console.log(
    formatTable(
      [
        'limit',
        'version filter',
        ...[...(counts[0]?.perSecond.keys() ?? [])].map((fetchers) => `${fetchers} fetchers`),
      ],
      counts.map(({ limit, withVersionFilter, perSecond }) => [
        limit,
        withVersionFilter ? 'yes' : 'no',
        ...[...perSecond.values()].map(short),
      ]),
    ),
  );
}
const goals = [...goalsOf(cells), ...counts.map(goalOfCounts)];
console.log(`\ngoals, backlog 3,000`);
printGoals(goals);
if (args.json) {
  await writeFile(
    args.json,
    `${JSON.stringify({ environment, seed: args.seed, cells, counts: counts.map((each) => ({ ...each, perSecond: [...each.perSecond] })), goals }, undefined, 2)}\n`,
  );
}
await control.end();
await server.destroy();
// Native keeps its connections, and with them the process.
process.exit(0);

function settingsOf(backlog: number): Setting[] {
  const settings: Setting[] = [];
  for (const withAck of [false, true]) {
    for (const withVersionFilter of [false, true]) {
      for (const fetchers of args.quick ? [1, 16] : [1, 4, 16]) {
        settings.push({ backlog, withAck, withVersionFilter, delayMs: 0, fetchers });
      }
    }
  }
  if (backlog !== 3_000) return settings;
  for (const withVersionFilter of [false, true]) {
    for (const fetchers of [1, 16]) settings.push({ backlog, withAck: true, withVersionFilter, delayMs: 1, fetchers });
  }
  return settings;
}

async function runSetting(setting: Setting, backlogs: Record<Contestant['schema'], Backlog>): Promise<Cell[]> {
  const proxy = setting.delayMs > 0 ? await startDelayProxy(server.port, setting.delayMs) : undefined;
  const url = proxy ? server.url.replace(`:${server.port}/`, `:${proxy.port}/`) : server.url;
  const rounds = args.quick ? 2 : 3;
  const opened: { contestant: Contestant; fetcher: Fetcher; measured: Measurement[] }[] = [];
  for (const contestant of contestants) {
    const fetcher = await contestant.open(url, SCHEMAS[contestant.schema], setting.fetchers);
    opened.push({ contestant, fetcher, measured: [] });
  }
  for (let round = -1; round < rounds; round++) {
    for (const { contestant, fetcher, measured } of opened) {
      const isWarmUp = round < 0;
      const result = await measure(fetcher, {
        ...setting,
        cpu,
        maxItems: isWarmUp
          ? Math.min(setting.backlog / 2, setting.fetchers * WARM_UP_CALLS * contestant.limit)
          : backlogs[contestant.schema].takeable(setting.fetchers, contestant.limit),
        maxMs: isWarmUp ? 3_000 : args.quick ? 1_000 : 2_000,
      });
      if (!isWarmUp) measured.push(result);
      await backlogs[contestant.schema].restore();
    }
  }
  for (const { fetcher } of opened) await fetcher.close();
  await proxy?.close();
  const native = opened.find(({ contestant }) => contestant.name === NATIVE)?.measured;
  return opened.map(({ contestant, measured }) => ({
    backlog: setting.backlog,
    mode: setting.withAck ? 'fetch + ack' : 'fetch',
    versionFilter: setting.withVersionFilter,
    delayMs: setting.delayMs,
    fetchers: setting.fetchers,
    contestant: contestant.name,
    itemsPerSecond: median(measured.map((result) => result.itemsPerSecond)),
    // Rounds are compared with their own neighbours: the machine may be busy in one and idle in the next.
    ...(native && {
      ofNative: median(measured.map((result, i) => result.itemsPerSecond / (native[i]?.itemsPerSecond ?? NaN))),
    }),
    callMsP50: median(measured.map((result) => result.callMs.p50)),
    callMsP95: median(measured.map((result) => result.callMs.p95)),
    serverCpuMs: median(measured.map((result) => result.cpuMs.server)),
    clientCpuMs: median(measured.map((result) => result.cpuMs.client)),
    rounds: measured.length,
  }));
}

async function migrateOurs(): Promise<void> {
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  await migrateSchema(driverFor({ $client: pool }), { schema: SCHEMAS.ours, storedFunctions: true });
  await pool.end();
}

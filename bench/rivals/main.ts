/**
 * `npm start` in this folder, after `npm install` here and in the root: hello, 200 in flight,
 * ours and others on one PostgreSQL with default settings, one after the other in several rounds.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startPostgresServer } from '../../test/support/postgres-server.js';
import { CpuMeter } from '../harness/cpu.js';
import { describeEnvironment, printEnvironment } from '../harness/environment.js';
import { atLeast, printGoals } from '../harness/goal.js';
import { median } from '../harness/statistics.js';
import { formatTable, short } from '../harness/table.js';
import type { Contestant, OpenContestant } from './contestant.js';

const IN_FLIGHT = 200;
/** What 20 times native comes to by each of them, and what was asked for. */
const GOALS: Readonly<Record<string, number>> = { Absurd: 6, 'pg-boss (plain jobs)': 2 };
/** Loaded when it is its turn: each brings its own drivers. */
const contestants: Readonly<Record<string, () => Promise<OpenContestant>>> = {
  ours: async () => (await import('./ours.js')).openOurs,
  'pg-boss': async () => (await import('./pg-boss.js')).openPgBoss,
  dbos: async () => (await import('./dbos.js')).openDbos,
  absurd: async () => (await import('./absurd.js')).openAbsurd,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '12' },
    json: { type: 'string' },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(contestants);
for (const name of names) {
  if (!contestants[name])
    throw new Error(`unknown contestant '${name}': expected ${Object.keys(contestants).join(', ')}`);
}

const server = await startPostgresServer({ settings: ['max_connections=200'] });
const control = new pg.Client({ connectionString: server.url });
await control.connect();
const cpu = new CpuMeter(server.dataDir);
const environment = await describeEnvironment(server.url);
printEnvironment(environment, 0);

const open: { readonly contestant: Contestant; readonly rounds: Round[] }[] = [];
for (const name of names) {
  try {
    const database = name.replace('-', '_');
    await control.query(`create database ${database}`);
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    const openContestant = await contestants[name]?.();
    if (openContestant) open.push({ contestant: await openContestant(url.href), rounds: [] });
  } catch (error) {
    console.error(`${name} is left out: ${(error as Error).message}`);
  }
}

interface Round {
  readonly perSecond: number;
  readonly serverCpuMs: number;
  readonly clientCpuMs: number;
}

let started = 0;
async function measure(contestant: Contestant, seconds: number): Promise<Round> {
  let stopped = false;
  let completed = 0;
  const slots = Array.from({ length: IN_FLIGHT }, async () => {
    while (!stopped) {
      await contestant.hello(`hello-${started++}`);
      completed++;
    }
  });
  await new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / 3));
  const [before, done, beginMs] = [cpu.read(), completed, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const used = cpu.since(before);
  const [count, elapsedMs] = [completed - done, performance.now() - beginMs];
  stopped = true;
  await Promise.all(slots);
  return {
    perSecond: (count * 1000) / elapsedMs,
    serverCpuMs: used.server / count,
    clientCpuMs: used.client / count,
  };
}

for (let round = 0; round < Number(values.rounds); round++) {
  for (const { contestant, rounds } of open) {
    await control.query('checkpoint');
    rounds.push(await measure(contestant, Number(values.seconds)));
  }
}
const ours = open.find(({ contestant }) => contestant.name === 'duroxide-drizzle');
const ratios = (rounds: readonly Round[]) =>
  rounds.map((round, n) => (ours?.rounds[n]?.perSecond ?? NaN) / round.perSecond);
console.log(
  formatTable(
    ['', '/s', 'ours by it', 'CPU ms server', 'client'],
    open.map(({ contestant, rounds }) => [
      contestant.name,
      short(median(rounds.map(({ perSecond }) => perSecond))),
      short(median(ratios(rounds))),
      short(median(rounds.map(({ serverCpuMs }) => serverCpuMs))),
      short(median(rounds.map(({ clientCpuMs }) => clientCpuMs))),
    ]),
  ),
);
const goals = open.flatMap(({ contestant: { name }, rounds }) => {
  const limit = GOALS[name];
  return limit === undefined ? [] : [atLeast(`ours by ${name}`, median(ratios(rounds)), limit)];
});
printGoals(goals);
if (values.json) {
  const measured = Object.fromEntries(open.map(({ contestant, rounds }) => [contestant.name, rounds]));
  await writeFile(values.json, `${JSON.stringify({ environment, rounds: measured, goals }, undefined, 2)}\n`);
}
for (const { contestant } of open) await contestant.close();
await control.end();
await server.destroy();
process.exit(0);

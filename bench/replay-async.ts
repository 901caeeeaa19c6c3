/**
 * What an async orchestration costs to replay beside a generator with the same history of
 * 10,000 events: on an idle loop, and beside an instance that keeps the loop busy. Goals:
 * at most 100 ms longer idle, at most 500 ms longer beside a busy one, and the event loop
 * is never held for more than 50 ms. Run: `npx tsx bench/replay-async.ts [--json FILE]`.
 */
import { silentLogger } from '../src/base/logger.js';
import { AsyncHost } from '../src/runtime/async/async-host.js';
import { generatorOrchestration } from '../src/runtime/generator/generator-driver.js';
import type { OrchestrationContext } from '../src/runtime/generator/orchestration-context.js';
import { REGISTRATION } from '../src/runtime/registrable.js';
import type { CreateDriver } from '../src/runtime/replay/driver.js';
import { createExecution } from '../src/runtime/replay/execution.js';
import { declareActivity, type Orchestration, orchestration } from '../src/typed/definitions.js';
import type { HistoryEvent } from '../src/wire/event.js';
import { benchArguments } from './harness/arguments.js';
import { atMost, type Goal, printGoals } from './harness/goal.js';
import { writeFile } from 'node:fs/promises';

const { json } = benchArguments();
const GOALS = { idleMs: 100, busyMs: 500, holdMs: 50 } as const;
const ROUNDS = 5;
const STEPS = 5_000; // two events each: 10,000
/** A turn of the busy instance: so long it computes before the loop turns. */
const BUSY_TURN_MS = 5;
const now = (): number => 1_700_000_000_000;
const START = { name: 'Bench', version: '1.0.0', input: 'null' };

function* generatorForm(ctx: OrchestrationContext): Generator<unknown, unknown, unknown> {
  let last: unknown;
  for (let i = 0; i < STEPS; i++) last = yield ctx.scheduleActivity('step', i);
  return last;
}

const step = declareActivity<number, number>('step');
const asyncForm = orchestration('Bench', async (ctx) => {
  let last = 0;
  for (let i = 0; i < STEPS; i++) last = await ctx.call(step, i);
  return last;
});
const stepsForm = orchestration('Bench', function* (ctx) {
  let last = 0;
  for (let i = 0; i < STEPS; i++) last = yield* ctx.call(step, i);
  return last;
});

const drivers: Readonly<Record<string, CreateDriver>> = {
  generator: generatorOrchestration(generatorForm, { writeTrace: () => undefined }),
  async: driverOf(asyncForm),
  'typed generator': driverOf(stepsForm),
};

function driverOf(definition: Orchestration<void, number>): CreateDriver {
  const registration = definition[REGISTRATION]({ host: new AsyncHost(), logger: silentLogger });
  if (registration.kind !== 'orchestration') throw new Error('no orchestration');
  return registration.createDriver;
}

/** The history that all forms share, without its end: the replay goes all the way and waits. */
async function record(createDriver: CreateDriver): Promise<readonly HistoryEvent[]> {
  const execution = createExecution({ instance: 'bench', executionId: 1, createDriver });
  const first = await execution.runCold({ history: [], start: START, messages: [], now });
  const history = [...first.historyDelta];
  let { workerItems } = first;
  while (history.length < STEPS * 2) {
    const [item] = workerItems;
    if (item?.kind !== 'ActivityExecute') throw new Error('an activity was expected');
    const result = {
      kind: 'ActivityCompleted',
      instance: 'bench',
      executionId: 1,
      id: item.id,
      result: item.input,
    } as const;
    const turn = await execution.runWarm({ messages: [result], now });
    history.push(...turn.historyDelta);
    ({ workerItems } = turn);
  }
  return history;
}

interface Measured {
  readonly ms: number;
  /** The longest time between two turns of the loop. */
  readonly holdMs: number;
}

async function replay(createDriver: CreateDriver, history: readonly HistoryEvent[], busy: boolean): Promise<Measured> {
  const loop = watchLoop(busy);
  await new Promise((resolve) => setImmediate(resolve));
  const began = performance.now();
  const execution = createExecution({ instance: 'bench', executionId: 1, createDriver });
  const outcome = await execution.runCold({ history, messages: [], now });
  const ms = performance.now() - began;
  if (outcome.historyDelta.length > 0) throw new Error('the replay has written something new');
  await new Promise((resolve) => setImmediate(resolve));
  return { ms, holdMs: loop.stop() };
}

function watchLoop(busy: boolean): { stop(): number } {
  let longest = 0;
  let last = performance.now();
  let isStopped = false;
  const turn = (): void => {
    longest = Math.max(longest, performance.now() - last);
    if (busy) for (const until = performance.now() + BUSY_TURN_MS; performance.now() < until;);
    last = performance.now();
    if (!isStopped) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    stop: () => {
      isStopped = true;
      return longest;
    },
  };
}

/** The best of several rounds: the machine may be busy with other things. */
async function best(createDriver: CreateDriver, history: readonly HistoryEvent[], busy: boolean): Promise<Measured> {
  const rounds: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await replay(createDriver, history, busy));
  return {
    ms: Math.min(...rounds.map(({ ms }) => ms)),
    holdMs: Math.min(...rounds.map(({ holdMs }) => holdMs)),
  };
}

const history = await record(drivers['generator'] as CreateDriver);
const rows: Record<string, unknown>[] = [];
const goals: Goal[] = [];
for (const busy of [false, true]) {
  const base = await best(drivers['generator'] as CreateDriver, history, busy);
  const goalMs = busy ? GOALS.busyMs : GOALS.idleMs;
  for (const [form, driver] of Object.entries(drivers)) {
    const { ms, holdMs } = form === 'generator' ? base : await best(driver, history, busy);
    const longerMs = ms - base.ms;
    const loop = busy ? 'busy' : 'idle';
    // A generator replays in one go; the goal for the loop is one of async functions.
    if (form !== 'generator') {
      goals.push(
        atMost(`${form}, ${loop} loop: longer than a generator, ms`, longerMs, goalMs),
        atMost(`${form}, ${loop} loop: held, ms`, holdMs, GOALS.holdMs),
      );
    }
    rows.push({
      loop,
      form,
      events: history.length,
      ms: Number(ms.toFixed(1)),
      'longer, ms': Number(longerMs.toFixed(1)),
      'loop held, ms': Number(holdMs.toFixed(1)),
    });
  }
}
console.table(rows);
printGoals(goals);
if (json) await writeFile(json, `${JSON.stringify({ rows, goals }, undefined, 2)}\n`);
process.exitCode = goals.every(({ met }) => met) ? 0 : 1;

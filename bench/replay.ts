/**
 * What the replay engine itself costs, JSON and storage apart: 10,000 activities one
 * after the other, and a join of 5,000 whose outcomes come in batches. Goal: at most
 * 5 µs of processor time per event of history. Run: `npx tsx bench/replay.ts`.
 */
import { generatorOrchestration } from '../src/runtime/generator/generator-driver.js';
import type { OrchestrationContext } from '../src/runtime/generator/orchestration-context.js';
import { createExecution } from '../src/runtime/replay/execution.js';
import type { LiveExecution, TurnOutcome } from '../src/runtime/replay/turn.js';
import type { HistoryEvent } from '../src/wire/event.js';
import type { WorkItem } from '../src/wire/work-item.js';

const GOAL_US = 5;
const ROUNDS = 7;
const STEPS = 5_000; // two events each: 10,000
const WIDTH = 5_000;
const now = (): number => 1_700_000_000_000;
const START = { name: 'Bench', version: '1.0.0', input: 'null' };

function* sequence(ctx: OrchestrationContext): Generator<unknown, unknown, unknown> {
  let last: unknown;
  for (let i = 0; i < STEPS; i++) last = yield ctx.scheduleActivity('step', i);
  return last;
}

function* fanOut(ctx: OrchestrationContext): Generator<unknown, unknown, unknown> {
  const tasks = Array.from({ length: WIDTH }, (_, i) => ctx.scheduleActivity('step', i));
  return ((yield ctx.all(tasks)) as unknown[]).length;
}

type Orchestration = typeof sequence;

function newExecution(fn: Orchestration): LiveExecution {
  return createExecution({
    instance: 'bench',
    executionId: 1,
    createDriver: generatorOrchestration(fn, { writeTrace: () => undefined }),
  });
}

function settled(outcome: TurnOutcome | Promise<TurnOutcome>): TurnOutcome {
  if (outcome instanceof Promise) throw new Error('generators are synchronous');
  return outcome;
}

function answer(item: WorkItem): WorkItem {
  if (item.kind !== 'ActivityExecute') throw new Error(`a worker item of kind ${item.kind}`);
  return { kind: 'ActivityCompleted', instance: 'bench', executionId: 1, id: item.id, result: item.input };
}

/** The whole history of an instance, driven warm to its end in batches of `batch` answers. */
function record(fn: Orchestration, batch: number): { history: HistoryEvent[]; turns: number } {
  const execution = newExecution(fn);
  const first = settled(execution.runCold({ history: [], start: START, messages: [], now }));
  const history = [...first.historyDelta];
  const queue = [...first.workerItems];
  let turns = 1;
  for (let outcome = first; outcome.result.kind === 'continued'; turns++) {
    outcome = settled(execution.runWarm({ messages: queue.splice(0, batch).map(answer), now }));
    history.push(...outcome.historyDelta);
    queue.push(...outcome.workerItems);
  }
  return { history, turns };
}

/** The best of several rounds, in µs of processor time per unit: the machine may be busy with other things. */
function measure(units: number, run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const began = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(began);
    best = Math.min(best, (user + system) / units);
  }
  return best;
}

function replay(fn: Orchestration, stored: readonly HistoryEvent[]): void {
  const outcome = settled(newExecution(fn).runCold({ history: stored, messages: [], now }));
  if (outcome.historyDelta.length > 0) throw new Error('the replay has written something new');
}

interface Row {
  readonly what: string;
  readonly count: number;
  readonly unit: 'event' | 'turn';
  readonly µs: number;
  readonly ok: boolean;
}
const rows: Row[] = [];
/** The goal is one for events; what a turn costs beside them is shown. */
function report(what: string, unit: Row['unit'], count: number, µs: number): void {
  rows.push({ what, count, unit, µs: Number(µs.toFixed(2)), ok: unit === 'turn' || µs <= GOAL_US });
}

for (const [what, fn, batch] of [
  ['sequence', sequence, 1],
  ['all', fanOut, 50],
  ['all, one answer a turn', fanOut, 1],
] as const) {
  const { history, turns } = record(fn, batch);
  const stored = history.slice(0, -2); // without the last answer: the replay goes all the way and waits
  report(
    `${what}: cold replay`,
    'event',
    stored.length,
    measure(stored.length, () => replay(fn, stored)),
  );
  report(
    `${what}: warm turns`,
    'turn',
    turns,
    measure(turns, () => void record(fn, batch)),
  );
}

console.table(rows);
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

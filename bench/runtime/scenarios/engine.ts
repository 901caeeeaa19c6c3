import { generatorOrchestration } from '../../../src/runtime/generator/generator-driver.js';
import { createExecution } from '../../../src/runtime/replay/execution.js';
import { COMPAT_VERSION_TEXT } from '../../../src/wire/compat-version.js';
import type { EventBody, HistoryEvent } from '../../../src/wire/event.js';
import { median } from '../../harness/statistics.js';
import { short } from '../../harness/table.js';
import { atMost } from '../../harness/goal.js';
import type { Scenario } from '../bench.js';

const STEPS = 5_000;
/** Until the compiler has seen enough of it. */
const WARM_UP_ROUNDS = 10;
const ROUNDS = 15;

/** The engine alone: no database, no JSON of events. */
export const engineScenarios: readonly Scenario[] = [
  {
    name: 'engine',
    about: 'a replay from the start: 5,000 activities in a row and 5,000 in one join (10,000 events each)',
    async run() {
      const inARow = replayMicroseconds(sequentialHistory(), function* (ctx) {
        for (let n = 0; n < STEPS; n++) yield ctx.scheduleActivity('echo', n);
        yield ctx.waitForEvent('end');
      });
      const joined = replayMicroseconds(joinedHistory(), function* (ctx) {
        yield ctx.all(Array.from({ length: STEPS }, (_, n) => ctx.scheduleActivity('echo', n)));
        yield ctx.waitForEvent('end');
      });
      return {
        header: ['', 'µs per event'],
        rows: [
          ['in a row', short(inARow)],
          ['joined', short(joined)],
        ],
        goals: [
          atMost('µs per event, in a row', inARow, 5),
          atMost(`µs per event, all of ${STEPS.toLocaleString('en')}`, joined, 5),
        ],
      };
    },
  },
];

type Orchestration = Parameters<typeof generatorOrchestration>[0];

function replayMicroseconds(history: readonly HistoryEvent[], orchestration: Orchestration): number {
  const createDriver = generatorOrchestration(orchestration, { writeTrace: () => undefined });
  const times: number[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const execution = createExecution({ instance: 'replay', executionId: 1, createDriver });
    // Processor time: a busy machine must not look like a slow engine.
    const began = process.cpuUsage();
    const outcome = execution.runCold({ history, messages: [], now: () => 0 });
    const { user, system } = process.cpuUsage(began);
    if (round >= WARM_UP_ROUNDS) times.push(user + system);
    if (outcome instanceof Promise || outcome.result.kind !== 'continued') throw new Error('the replay went wrong');
  }
  return median(times) / history.length;
}

function sequentialHistory(): HistoryEvent[] {
  const history = [started()];
  for (let n = 0; n < STEPS; n++) {
    const id = history.length + 1;
    history.push(event(id, null, { kind: 'ActivityScheduled', name: 'echo', input: String(n) }));
    history.push(event(id + 1, id, { kind: 'ActivityCompleted', result: String(n) }));
  }
  return [...history, event(history.length + 1, null, { kind: 'ExternalSubscribed', name: 'end' })];
}

function joinedHistory(): HistoryEvent[] {
  const history = [started()];
  for (let n = 0; n < STEPS; n++) {
    history.push(event(n + 2, null, { kind: 'ActivityScheduled', name: 'echo', input: String(n) }));
  }
  for (let n = 0; n < STEPS; n++) {
    history.push(event(history.length + 1, n + 2, { kind: 'ActivityCompleted', result: String(n) }));
  }
  return [...history, event(history.length + 1, null, { kind: 'ExternalSubscribed', name: 'end' })];
}

function started(): HistoryEvent {
  return event(1, null, {
    kind: 'OrchestrationStarted',
    name: 'replay',
    version: '1.0.0',
    input: 'null',
    parentInstance: null,
    parentId: null,
  });
}

function event(eventId: number, sourceEventId: number | null, body: EventBody): HistoryEvent {
  return {
    eventId,
    sourceEventId,
    instanceId: 'replay',
    executionId: 1,
    timestampMs: 0,
    duroxideVersion: COMPAT_VERSION_TEXT,
    ...body,
  };
}

import { describe, expect, test } from '@jest/globals';
import { generatorOrchestration } from '../../src/runtime/generator/generator-driver.js';
import { readBatch, startRecord } from '../../src/runtime/replay/batch.js';
import { createExecution } from '../../src/runtime/replay/execution.js';
import type { TurnOutcome } from '../../src/runtime/replay/turn.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { encodeWorkItem, workItemFromJson } from '../../src/wire/work-item.js';
import type { RecordedScenario } from '../oracle/fixture.js';
import { historyBefore, loadRecordedScenarios } from '../oracle/fixture.js';
import type { Registration, Scenario } from '../oracle/scenarios/index.js';
import { scenarios } from '../oracle/scenarios/index.js';
import type { RecordedTurn } from '../oracle/turn-recorder.js';

/**
 * What native did in a turn, ours must do, too: every recorded turn is run again from the
 * stored history and the consumed messages, and everything it commits is compared.
 */

/** Turns that are not a function of history and messages, or where ours is better on purpose. */
const NOT_COMPARED: Readonly<Record<string, string>> = {
  nondeterminism: 'the code changes between the phases; see nondeterminism.test.ts',
  poison: 'no code runs; see poison.test.ts',
  'poison-history': 'no code runs; see poison.test.ts',
};

/** Scenarios in which ours decides differently on purpose, and how to compare all the same. */
const INTENDED: Readonly<Record<string, (decisions: Decisions) => Decisions>> = {
  // D-07: what is dropped in the turn of a continue-as-new is recorded, and a child cancelled.
  'continue-as-new-child': withoutTerminalDrops,
  'continue-as-new': withoutTerminalDrops,
  // D-26: the breadcrumb of a mailbox wait stands before the actions of its poll, not after them.
  'queue-time-out': withoutOrder,
};

interface Decisions {
  readonly events: readonly Readonly<Record<string, unknown>>[];
  readonly workerItems: readonly unknown[];
  readonly orchestratorItems: readonly unknown[];
  readonly status: unknown;
}

function withoutTerminalDrops(decisions: Decisions): Decisions {
  if (decisions.status !== 'ContinuedAsNew') return decisions;
  return {
    ...decisions,
    events: decisions.events
      .filter(({ kind }) => kind !== 'SubOrchestrationCancelRequested')
      .map((event) => ({ ...event, eventId: 0, ...('reason' in event && { reason: 'any' }) })),
    orchestratorItems: decisions.orchestratorItems.filter((item) => !('CancelInstance' in (item as object))),
  };
}

function withoutOrder(decisions: Decisions): Decisions {
  const events = decisions.events.map((event) => ({
    ...event,
    eventId: 0,
    // Ids of the turn's own events move with the order.
    sourceEventId: event['sourceEventId'] === null ? null : 0,
  }));
  return { ...decisions, events: sorted(events) as Decisions['events'] };
}

const recorded = loadRecordedScenarios().filter(({ scenario }) => !(scenario in NOT_COMPARED));

describe('turns that native recorded', () => {
  test.each(recorded.map((recording) => [recording.scenario, recording] as const))('%s', (name, recording) => {
    const scenario = scenarios.find((candidate) => candidate.name === name);
    if (!scenario) throw new Error(`no scenario ${name}`);
    let compared = 0;
    for (const turn of recording.turns) {
      const outcome = rerun(scenario, recording, turn);
      if (!outcome) continue;
      compared++;
      const intended = INTENDED[name] ?? ((decisions: Decisions) => decisions);
      expect(intended(decisionsOf(outcome))).toEqual(intended(recordedDecisions(turn)));
      // A row that was removed must have been asked for; one that was never there cannot be recorded.
      expect(removedOf(outcome)).toEqual(expect.arrayContaining([...turn.removedActivities]));
    }
    expect(compared).toBeGreaterThan(0);
  });
});

function rerun(scenario: Scenario, recording: RecordedScenario, turn: RecordedTurn): TurnOutcome | undefined {
  const batch = readBatch(turn.messages.map((message) => workItemFromJson(message)));
  const history = historyBefore(recording, turn).map(decodeEvent);
  const isNew = history.length === 0;
  if (isNew && !batch.start) return undefined; // for an instance that never was: nothing runs
  const written = turn.events.map(decodeEvent);
  const started = [...history, ...written].find((event) => event.kind === 'OrchestrationStarted');
  if (!started) return undefined;
  const execution = createExecution({
    instance: turn.instance,
    executionId: turn.executionId,
    createDriver: generatorOrchestration(registered(scenario, started.name, started.version).fn, {
      writeTrace: () => undefined,
    }),
  });
  if (history.some(({ kind }) => TERMINAL.has(kind))) return undefined; // the dispatcher answers those by itself
  const outcome = execution.runCold({
    history,
    start: batch.start && startRecord(batch.start, started.version),
    messages: batch.messages,
    kvSnapshot: new Map(turn.kvSnapshot.map(([key, value, lastUpdatedAtMs]) => [key, { value, lastUpdatedAtMs }])),
    now: () => written[0]?.timestampMs ?? 0,
  });
  if (outcome instanceof Promise) throw new Error('generators are synchronous');
  return outcome;
}

const TERMINAL: ReadonlySet<string> = new Set([
  'OrchestrationCompleted',
  'OrchestrationFailed',
  'OrchestrationContinuedAsNew',
]);

function registered(scenario: Scenario, name: string, version: string): Registration {
  const found = scenario
    .orchestrations()
    .find((registration) => registration.name === name && (registration.version ?? '1.0.0') === version);
  if (!found) throw new Error(`no orchestration ${name}@${version} in ${scenario.name}`);
  return found;
}

function decisionsOf(outcome: TurnOutcome): Decisions {
  return {
    events: comparableEvents(outcome.historyDelta.map((event) => decodeEvent(encodeEvent(event)))),
    workerItems: outcome.workerItems.map(comparableItem),
    orchestratorItems: sorted(outcome.orchestratorItems.map(comparableItem)),
    status: outcome.metadata.status ?? 'Running',
  };
}

function removedOf(outcome: TurnOutcome): object[] {
  return outcome.cancelledActivities.map(({ executionId, activityId }) => ({ executionId, activityId }));
}

function recordedDecisions(turn: RecordedTurn): Decisions {
  return {
    events: comparableEvents(turn.events.map(decodeEvent)),
    workerItems: turn.workerItems.map(({ item }) => comparableItem(workItemFromJson(item))),
    orchestratorItems: sorted(turn.orchestratorItems.map(({ item }) => comparableItem(workItemFromJson(item)))),
    status: turn.executionRow?.['status'] ?? 'Running',
  };
}

/** Times differ from run to run, and stack lines from file to file. */
function comparableEvents(events: readonly HistoryEvent[]): Readonly<Record<string, unknown>>[] {
  return events.map((event) => {
    const { timestampMs, ...rest } = event;
    void timestampMs;
    if (rest.kind === 'TimerCreated') return { ...rest, fireAtMs: 0 };
    if (rest.kind === 'KeyValueSet') return { ...rest, lastUpdatedAtMs: 0 };
    return withoutStacks(rest);
  });
}

function comparableItem(item: WorkItem): unknown {
  const clean = item.kind === 'TimerFired' ? { ...item, fireAtMs: 0 } : item;
  return JSON.parse(JSON.stringify(withoutStacks(JSON.parse(encodeWorkItem(clean)))));
}

function withoutStacks<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replace(/\\+n {4}at [^"]*/g, '')) as T;
}

function sorted(items: readonly unknown[]): unknown[] {
  return [...items].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

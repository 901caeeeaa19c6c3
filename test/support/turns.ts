import { createExecution } from '../../src/runtime/replay/execution.js';
import type { CreateDriver } from '../../src/runtime/replay/driver.js';
import type { KvSeed, StartRecord, TurnLimits, TurnOutcome } from '../../src/runtime/replay/turn.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { HistoryBuilder, INSTANCE, T0 } from './history-builder.js';
import type { Script } from './script.js';
import { scripted } from './script.js';

/** The start of a first turn, as the tests have it. */
export const START: StartRecord = { name: 'Orch', version: '1.0.0', input: '"in"' };

export interface TurnOptions {
  /** Stored events; without them the turn is a first one and makes its start event. */
  readonly history?: HistoryBuilder | readonly HistoryEvent[];
  readonly messages?: readonly WorkItem[];
  readonly kvSnapshot?: KvSeed;
  readonly start?: Partial<StartRecord>;
  readonly executionId?: number;
  readonly instance?: string;
  readonly limits?: Partial<TurnLimits>;
  readonly nowMs?: number;
  readonly parentExecutionId?: number;
}

/** One cold turn of a script or driver. */
export function runTurn(code: Script | { readonly driver: CreateDriver }, options: TurnOptions = {}): TurnOutcome {
  const { history, start, messages = [], kvSnapshot, limits, nowMs = T0 + 10_000 } = options;
  const execution = createExecution({
    instance: options.instance ?? INSTANCE,
    executionId: options.executionId ?? 1,
    createDriver: typeof code === 'function' ? scripted(code) : code.driver,
    limits,
  });
  const outcome = execution.runCold({
    history: history instanceof HistoryBuilder ? history.events : (history ?? []),
    start: history === undefined ? { ...START, ...start } : undefined,
    messages,
    kvSnapshot,
    now: () => nowMs,
    parentExecutionId: options.parentExecutionId,
  });
  if (outcome instanceof Promise) throw new Error('a synchronous driver gave a promise');
  return outcome;
}

/** Kinds of the events that a turn wrote, without the start event. */
export function kinds({ historyDelta }: TurnOutcome): string[] {
  return historyDelta.map(({ kind }) => kind).filter((kind) => kind !== 'OrchestrationStarted');
}

/** The events that a turn wrote, without the start event and the envelope; `source` where there is one. */
export function written({ historyDelta }: TurnOutcome): object[] {
  return historyDelta.filter(({ kind }) => kind !== 'OrchestrationStarted').map(bodyOf);
}

const ENVELOPE = ['eventId', 'instanceId', 'executionId', 'timestampMs', 'duroxideVersion', 'sourceEventId'];

function bodyOf(event: HistoryEvent): object {
  const fields = (Object.entries(event) as [string, unknown][]).filter(
    ([field, value]) => value !== undefined && !ENVELOPE.includes(field),
  );
  return { ...Object.fromEntries(fields), ...(event.sourceEventId !== null && { source: event.sourceEventId }) };
}

/** The message of a failed turn; fails the test when the turn did not fail. */
export function failureOf({ result }: TurnOutcome): string {
  if (result.kind !== 'failed') throw new Error(`the turn has not failed but ${result.kind}`);
  return result.details.message ?? '';
}

/** The output of a completed turn; fails the test when it has not completed. */
export function outputOf({ result }: TurnOutcome): string {
  if (result.kind === 'completed') return result.output;
  throw new Error(
    `the turn has not completed but ${result.kind}${result.kind === 'failed' ? `: ${JSON.stringify(result.details)}` : ''}`,
  );
}

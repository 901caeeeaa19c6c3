import { mapEvent } from '../provider/codec/map-payloads.js';
import type { Action } from '../runtime/replay/action.js';
import { createExecution } from '../runtime/replay/execution.js';
import { isFailureOfCode } from '../runtime/replay/limits.js';
import { sameDecision } from '../runtime/replay/matching.js';
import type { TurnOutcome } from '../runtime/replay/turn.js';
import { isActionEvent } from '../runtime/replay/walker.js';
import { registeredOrchestration } from '../runtime/registered-orchestrations.js';
import type { Runtime } from '../runtime/runtime.js';
import { readEncodedPayload } from '../wire/encoded-payload.js';
import type { EventKind, EventOf, HistoryEvent } from '../wire/event.js';

/** Values by key, as an execution begins with them. */
export type KeyValues = ReadonlyMap<string, { readonly value: string; readonly lastUpdatedAtMs: number }>;

export interface Replay {
  readonly runtime: Runtime;
  readonly instance: string;
  readonly executionId: number;
  readonly history: readonly HistoryEvent[];
  /** What earlier executions left; absent: unknown. */
  readonly values: KeyValues | undefined;
}

export type ReplayAnswer =
  | { readonly kind: 'same' }
  | { readonly kind: 'different'; readonly problem: string }
  /** The orchestration is not registered, its end was no decision of the code, its values are encoded, or its beginning is unknown. */
  | { readonly kind: 'skipped' };

const TERMINAL: ReadonlySet<EventKind> = new Set([
  'OrchestrationCompleted',
  'OrchestrationFailed',
  'OrchestrationContinuedAsNew',
]);
/** Leads the code through a history, its end left out, and compares what it wants then with what is recorded. */
export async function replayExecution(replay: Replay): Promise<ReplayAnswer> {
  const { runtime, instance, executionId, history, values } = replay;
  const started = history[0];
  if (started?.kind !== 'OrchestrationStarted' || !values) return { kind: 'skipped' };
  const createDriver = registeredOrchestration(runtime, started.name, started.version);
  const endAt = history.findIndex(({ kind }) => TERMINAL.has(kind));
  const end = endAt < 0 ? undefined : (history[endAt] as TerminalEvent);
  if (!createDriver || history.some(isEndedByOthers)) return { kind: 'skipped' };
  // Code would see values that it has never seen: their codec is not known here.
  if (history.some(holdsEncoded)) return { kind: 'skipped' };
  const nowMs = history.at(-1)?.timestampMs ?? started.timestampMs;
  const decisions: Action[] = [];
  const execution = createExecution({
    instance,
    executionId,
    createDriver,
    // Continue-as-new has no event of its own: it is the end of the history.
    onDecision: (action) => action.kind !== 'continueAsNew' && decisions.push(action),
  });
  const body = endAt < 0 ? history : history.slice(0, endAt);
  const outcome = await execution.runCold({ history: body, messages: [], kvSnapshot: values, now: () => nowMs });
  const problem = differenceOf(outcome, end) ?? differentDecision(decisions, body);
  return problem === undefined ? { kind: 'same' } : { kind: 'different', problem };
}

function holdsEncoded(event: HistoryEvent): boolean {
  let isFound = false;
  mapEvent(event, (text) => {
    isFound ||= readEncodedPayload(text) !== undefined;
    return text;
  });
  return isFound;
}

/** The n-th decision of the code has to be the n-th that was recorded; whatever follows the end of the code included. */
function differentDecision(decisions: readonly Action[], body: readonly HistoryEvent[]): string | undefined {
  const recorded = body.filter(isActionEvent);
  for (let index = 0; index < Math.max(recorded.length, decisions.length); index++) {
    const [event, decision] = [recorded[index], decisions[index]];
    if (!event) return `the replay decides more than history records: ${decision?.kind}`;
    if (!decision) return `the replay does not decide event ${event.eventId}, ${event.kind}`;
    if (!sameDecision(decision, event)) {
      return `the replay decides ${decision.kind} where event ${event.eventId} records ${event.kind}`;
    }
  }
  return undefined;
}

type TerminalEvent = EventOf<'OrchestrationCompleted' | 'OrchestrationFailed' | 'OrchestrationContinuedAsNew'>;

/** An end that overrides the code's stands behind it, if the code came to one. */
function isEndedByOthers(event: HistoryEvent): boolean {
  return event.kind === 'OrchestrationFailed' && !isFailureOfCode(event.details);
}

function differenceOf({ result }: TurnOutcome, end: TerminalEvent | undefined): string | undefined {
  if (result.kind === 'failed' && result.details.kind === 'Configuration') {
    return `the replay is nondeterministic: ${result.details.message ?? result.details.resource}`;
  }
  const recorded = end ? RECORDED_AS[end.kind] : 'continued';
  const replayed = result.kind === 'cancelled' ? 'failed' : result.kind;
  if (replayed !== recorded) return `the replay ends as ${replayed}, recorded is ${recorded}`;
  if (result.kind === 'completed' && end?.kind === 'OrchestrationCompleted' && result.output !== end.output) {
    return 'the replay has another output';
  }
  if (result.kind === 'continuedAsNew' && end?.kind === 'OrchestrationContinuedAsNew' && result.input !== end.input) {
    return 'the replay continues with another input';
  }
  return undefined;
}

const RECORDED_AS = {
  OrchestrationCompleted: 'completed',
  OrchestrationFailed: 'failed',
  OrchestrationContinuedAsNew: 'continuedAsNew',
} as const;

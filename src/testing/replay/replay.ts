import { silentLogger } from '../../base/logger.js';
import { AsyncHost } from '../../runtime/async/async-host.js';
import type { GeneratorOrchestration } from '../../runtime/generator/generator-driver.js';
import { generatorOrchestration } from '../../runtime/generator/generator-driver.js';
import { REGISTRATION, type Registrable } from '../../runtime/registrable.js';
import type { Action } from '../../runtime/replay/action.js';
import type { CreateDriver } from '../../runtime/replay/driver.js';
import { createExecution } from '../../runtime/replay/execution.js';
import type { KvSeed, TurnOutcome } from '../../runtime/replay/turn.js';
import { sameDecision } from '../../runtime/replay/matching.js';
import { isActionEvent } from '../../runtime/replay/walker.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { EventOf, HistoryEvent } from '../../wire/event.js';
import { decisionOf, recordedDecision } from './decision.js';
import type { RecordedHistory, RecordedValues } from './recorded-history.js';
import { eventsOf } from './recorded-history.js';
import { ReplayMismatchError } from './replay-mismatch-error.js';
import type { EndEvent } from './replayed-end.js';
import { actualEnd, compareEnd, isEndedByOthers, splitEnd } from './replayed-end.js';

export interface ReplayOptions {
  /**
   * Whether code may decide more than a history without an end records. `false` reports
   * it: a history that was read while nothing was in progress holds every decision of its
   * turns. `true` is for histories that were cut by hand.
   * @defaultValue `false`
   */
  readonly allowNewDecisions?: boolean | undefined;
}

/** What a replay without mismatch found. */
export interface ReplayReport {
  readonly orchestration: string;
  readonly events: number;
  /** How the execution stands at the end of its history. */
  readonly state: 'running' | 'completed' | 'failed' | 'continuedAsNew' | 'cancelled';
}

/**
 * Runs today's code against a recorded history, without a database: every decision must
 * be the recorded one. Give it histories of production before you deploy a change.
 * @param orchestration what `orchestration(…)` returns, or a generator function of the drop-in API
 * @throws (rejects with) ReplayMismatchError at the first difference; ForeignAwaitError when the code awaits
 *   something that is not durable; TypeError for something that is no history or no orchestration
 */
export async function replay(
  orchestration: Registrable | GeneratorOrchestration,
  history: RecordedHistory | readonly HistoryEvent[] | string,
  { allowNewDecisions = false }: ReplayOptions = {},
): Promise<ReplayReport> {
  const { events, values } = eventsOf(history);
  const { body, end } = splitEnd(events);
  const started = body.find((event): event is EventOf<'OrchestrationStarted'> => event.kind === 'OrchestrationStarted');
  if (!started) throw new TypeError('replay: expected a history that begins with OrchestrationStarted');
  const host = new AsyncHost();
  const release = host.retain();
  try {
    const decisions: Action[] = [];
    const outcome = await run(driverOf(orchestration, host), { started, body, values, decisions });
    compareDecisions({ started, body, end, decisions, outcome, allowNewDecisions });
    if (end) compareEnd(outcome, end, started.name);
    else if (!allowNewDecisions) throwIfEnded(outcome, started, body);
    return { orchestration: started.name, events: events.length, state: stateOf(outcome) };
  } finally {
    release();
  }
}

interface Run {
  readonly started: EventOf<'OrchestrationStarted'>;
  readonly body: readonly HistoryEvent[];
  /** Filled by the run. */
  readonly decisions: Action[];
}

async function run(
  createDriver: CreateDriver,
  { started, body, decisions, values }: Run & { readonly values: RecordedValues },
): Promise<TurnOutcome> {
  const execution = createExecution({
    instance: started.instanceId,
    executionId: started.executionId,
    createDriver,
    // Continue-as-new has no event of its own: it is the end of the history.
    onDecision: (action) => action.kind !== 'continueAsNew' && decisions.push(action),
  });
  // Time stands where history left it: nothing that the code decides depends on it.
  const nowMs = body.at(-1)?.timestampMs ?? 0;
  const kvSnapshot: KvSeed = new Map(Object.entries(values));
  return execution.runCold({ history: body, messages: [], kvSnapshot, now: () => nowMs });
}

/** The n-th decision of the code has to be the n-th that was recorded. */
function compareDecisions({
  started,
  body,
  end,
  decisions,
  outcome: { result },
  allowNewDecisions,
}: Run & {
  readonly end: EndEvent | undefined;
  readonly outcome: TurnOutcome;
  readonly allowNewDecisions: boolean;
}): void {
  const failure = unfit(result);
  // What was decided and could not be stored any more is no difference.
  const mayGoOn = end ? isEndedByOthers(end) : allowNewDecisions;
  const recorded = body.filter(isActionEvent);
  const length = Math.max(recorded.length, decisions.length);
  for (let i = 0; i < length; i++) {
    const [event, decision] = [recorded[i], decisions[i]];
    if (event && decision && sameDecision(decision, event)) continue;
    if (!event && mayGoOn) break;
    throw new ReplayMismatchError({
      orchestration: started.name,
      position: event?.eventId ?? end?.eventId ?? afterLast(body),
      expected: event ? recordedDecision(event) : end ? recordedDecision(end) : 'nothing more',
      actual: decision ? decisionOf(decision) : instead(result),
      event: event ?? end,
      failure,
    });
  }
  if (failure === undefined) return;
  // What the engine alone knows: something was given up in one of them and not in the other, or damage.
  throw new ReplayMismatchError({
    orchestration: started.name,
    position: afterLast(body),
    expected: 'the same decisions and the same things given up',
    actual: failure,
    failure,
  });
}

/** What the engine says when the code does not fit the history. */
function unfit(result: TurnOutcome['result']): string | undefined {
  return result.kind === 'failed' && result.details.kind === 'Configuration'
    ? displayErrorDetails(result.details)
    : undefined;
}

/** What the code does where it should have decided something. */
function instead(result: TurnOutcome['result']): string {
  return unfit(result) === undefined ? actualEnd(result) : 'nothing';
}

/** @throws ReplayMismatchError when the code ends and the history does not */
function throwIfEnded(
  { result }: TurnOutcome,
  { name }: EventOf<'OrchestrationStarted'>,
  body: readonly HistoryEvent[],
) {
  if (result.kind === 'continued' || result.kind === 'alreadyTerminal') return;
  const position = afterLast(body);
  throw new ReplayMismatchError({ orchestration: name, position, expected: 'nothing more', actual: actualEnd(result) });
}

function afterLast(body: readonly HistoryEvent[]): number {
  return (body.at(-1)?.eventId ?? 0) + 1;
}

function driverOf(orchestration: Registrable | GeneratorOrchestration, host: AsyncHost): CreateDriver {
  if (typeof orchestration === 'function') return generatorOrchestration(orchestration, { writeTrace: () => {} });
  const register = (orchestration as Partial<Registrable> | null)?.[REGISTRATION];
  const registration = register?.call(orchestration, { host, logger: silentLogger });
  if (registration?.kind === 'orchestration') return registration.createDriver;
  throw new TypeError(
    `replay: expected an orchestration with its code or a generator function, got ${
      registration ? `activity '${registration.name}'` : typeof orchestration
    }`,
  );
}

function stateOf({ result }: TurnOutcome): ReplayReport['state'] {
  return result.kind === 'continued' || result.kind === 'alreadyTerminal' ? 'running' : result.kind;
}

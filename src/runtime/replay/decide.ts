import type { ErrorDetails } from '../../wire/error-details.js';
import type { EventBody } from '../../wire/event.js';
import type { OrchestrationCode, Task } from './code.js';
import { panicOf } from './code.js';
import type { Steps } from './drive.js';
import { breadcrumbOf, dropKindOf, missingDrop, recordedDrops } from './drops.js';
import { orchestrationFailed, unsettled } from './failures.js';
import { derivedChildId } from './instance-ids.js';
import type { DropKind, HistoryLedger } from './ledger.js';
import { DROP_KINDS } from './ledger.js';
import type { RecordedAction } from './recorded-action.js';
import type { RunningTurn } from './running-turn.js';
import type { TurnLimits, TurnResult } from './turn.js';
import type { HistoryWalker } from './walker.js';

/** A turn whose code has been led through everything recorded. */
export interface DecisionContext {
  readonly executionId: number;
  readonly turn: RunningTurn;
  readonly code: OrchestrationCode;
  readonly walker: HistoryWalker;
  readonly ledger: HistoryLedger;
  readonly limits: TurnLimits;
}

/**
 * Turns what the code wants beyond history into events, lets it go on for as long as
 * those give it something to do, and says how the turn ends (runtime.md 2.5 to 2.8).
 */
export function* decideTurn(context: DecisionContext): Steps<TurnResult> {
  const { code, walker, ledger } = context;
  walker.inScheduleRun = true;
  recordActions(context);
  const failure = yield* settle(context);
  if (failure) return { kind: 'failed', details: failure };

  // A request for cancellation beats everything the code has decided, and records no drops.
  if (ledger.cancelReason !== undefined) return { kind: 'cancelled', reason: ledger.cancelReason };
  const next = context.turn.pending.find(({ action }) => action.kind === 'continueAsNew')?.action;
  if (next?.kind === 'continueAsNew') {
    // No comparison with stored drops: this history is never replayed again (D-07).
    context.turn.writer.closeGap();
    recordDrops(context);
    return { kind: 'continuedAsNew', input: next.input, version: next.version };
  }
  const mismatch = compareDrops(context);
  if (mismatch) return { kind: 'failed', details: mismatch };
  recordDrops(context);
  switch (code.finished?.kind) {
    case 'output':
      return { kind: 'completed', output: code.finished.output };
    case 'error':
      return { kind: 'failed', details: orchestrationFailed(code.finished.message, code.finished.failure) };
    default:
      return { kind: 'continued' };
  }
}

/** Gives every action without an event one, in the order of emission. */
function recordActions(context: DecisionContext): boolean {
  const { code } = context;
  let released = false;
  for (;;) {
    const next = code.actions.peek();
    released = recordQueueDrops(context, next?.token ?? Infinity) || released;
    if (!next) return released;
    code.actions.shift();
    recordAction(context, next);
  }
}

function recordAction({ turn, walker, executionId }: DecisionContext, recorded: RecordedAction): void {
  const { action, fireAtMs } = recorded;
  const { writer } = turn;
  if (action.kind === 'continueAsNew') {
    turn.pending.push({ action, eventId: writer.skipId(), fireAtMs, childId: undefined });
    return;
  }
  const childId =
    action.kind === 'startSubOrchestration'
      ? (action.instance ?? derivedChildId(executionId, writer.upcomingId))
      : undefined;
  const { eventId } = writer.append(eventOf(recorded, childId));
  walker.bind(recorded, eventId);
  turn.pending.push({ action, eventId, fireAtMs, childId });
}

function eventOf({ action, fireAtMs, stampMs }: RecordedAction, childId: string | undefined): EventBody {
  switch (action.kind) {
    case 'scheduleActivity': {
      const { name, input, sessionId, tag } = action;
      return { kind: 'ActivityScheduled', name, input, sessionId, tag };
    }
    case 'createTimer':
      return { kind: 'TimerCreated', fireAtMs };
    case 'waitExternal':
      return { kind: 'ExternalSubscribed', name: action.name };
    case 'dequeueEvent':
      return { kind: 'ExternalSubscribedPersistent', name: action.name };
    case 'startSubOrchestration':
      return {
        kind: 'SubOrchestrationScheduled',
        name: action.name,
        instance: childId ?? '',
        input: action.input,
      };
    case 'startDetached':
      return { kind: 'OrchestrationChained', name: action.name, instance: action.instance, input: action.input };
    case 'updateCustomStatus':
      return { kind: 'CustomStatusUpdated', status: action.status };
    case 'setKeyValue':
      return { kind: 'KeyValueSet', key: action.key, value: action.value, lastUpdatedAtMs: stampMs };
    case 'clearKeyValue':
      return { kind: 'KeyValueCleared', key: action.key };
    case 'clearKeyValues':
      return { kind: 'KeyValuesCleared' };
    case 'continueAsNew':
      throw new TypeError('continue-as-new has no event of its own');
  }
}

/**
 * Writes the breadcrumbs of mailbox waits at the place where they were dropped: after their
 * own subscriptions and before the actions of that poll, so that a successor which the same
 * poll subscribed finds the place free (D-26, D-27). Answers whether an older wait of the
 * code became ready by it.
 */
function recordQueueDrops({ turn, code, ledger }: DecisionContext, beforeToken: number): boolean {
  if (code.queueDrops.length === 0) return false;
  let released = false;
  code.queueDrops = code.queueDrops.filter(({ eventId, droppedIn }) => {
    if (eventId === undefined || droppedIn > beforeToken) return true;
    if (!ledger.hasBreadcrumb(eventId)) turn.writer.append(breadcrumbOf('queue'), eventId);
    released = code.mailboxes.cancel(eventId) || released;
    return false;
  });
  return released;
}

/** Lets the code go on while new events give it something to do, as a buffered message does. */
function* settle(context: DecisionContext): Steps<ErrorDetails | undefined> {
  const { code, turn, walker, limits } = context;
  let iterations = 0;
  while (!code.finished && turn.pending.length > 0 && iterations < limits.maxSettleIterations) {
    iterations++;
    const before = turn.pending.length;
    walker.mustPoll = false;
    const pending = code.poll();
    if (pending) yield pending;
    const panic = panicOf(code);
    if (panic) return panic;
    const released = recordActions(context);
    if (turn.pending.length === before && !released) break;
  }
  walker.mustPoll = false;
  return iterations >= limits.maxSettleIterations ? unsettled(limits.maxSettleIterations) : undefined;
}

/** What the stored history says was dropped must have been dropped again. */
function compareDrops({ turn, code }: DecisionContext): ErrorDetails | undefined {
  const { history } = turn;
  const lastStored = history.at(-1)?.eventId;
  if (lastStored === undefined) return undefined;
  const dropped = {
    activity: new Set<number>(),
    suborchestration: new Set<number>(),
    external: new Set<number>(),
    queue: new Set<number>(),
  };
  for (const { kind, eventId } of code.drops) {
    const dropKind = dropKindOf(kind);
    if (dropKind && eventId !== undefined && eventId <= lastStored) dropped[dropKind].add(eventId);
  }
  return missingDrop(recordedDrops(history), dropped);
}

/** Breadcrumbs of what the code has dropped, by kind and id, and what they entail. */
function recordDrops({ turn, code, ledger }: DecisionContext): void {
  const byKind = new Map<DropKind, Task[]>();
  for (const task of code.drops) {
    const kind = dropKindOf(task.kind);
    if (!kind) continue;
    const tasks = byKind.get(kind);
    if (tasks) tasks.push(task);
    else byKind.set(kind, [task]);
  }
  code.drops = [];
  for (const kind of DROP_KINDS) {
    const ids = (byKind.get(kind) ?? []).flatMap(({ eventId }) => (eventId === undefined ? [] : [eventId]));
    for (const id of ids.sort((a, b) => a - b)) {
      if (ledger.hasBreadcrumb(id)) continue;
      const childId = ledger.openChildren.get(id); // gone once it has its breadcrumb
      turn.writer.append(breadcrumbOf(kind), id);
      if (kind === 'activity') turn.droppedActivities.push(id);
      if (kind === 'suborchestration' && childId !== undefined) turn.droppedChildren.push(childId);
      if (kind === 'external') code.positional.cancel(id);
    }
  }
}

import { assertNever } from '../../base/assert-never.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import type { EventBody, HistoryEvent } from '../../wire/event.js';
import type { AwaitableActionKind } from './action.js';
import { debugIds } from './debug-text.js';
import { nondeterminism } from './failures.js';
import { DROP_KINDS, DROPPED_FUTURE, type DropKind } from './ledger.js';

/** How native names the kinds of drops in its failures. */
const WORDS: Readonly<Record<DropKind, string>> = {
  activity: 'activities',
  suborchestration: 'sub-orchestrations',
  external: 'external waits',
  queue: 'persistent waits',
};

/** The kind of breadcrumb that dropping such a task leaves; timers leave none. */
export function dropKindOf(kind: AwaitableActionKind): DropKind | undefined {
  switch (kind) {
    case 'scheduleActivity':
      return 'activity';
    case 'startSubOrchestration':
      return 'suborchestration';
    case 'waitExternal':
      return 'external';
    case 'dequeueEvent':
      return 'queue';
    case 'createTimer':
      return undefined;
    default:
      return assertNever(kind, 'action');
  }
}

export function breadcrumbOf(kind: DropKind): EventBody {
  switch (kind) {
    case 'activity':
      return { kind: 'ActivityCancelRequested', reason: DROPPED_FUTURE };
    case 'suborchestration':
      return { kind: 'SubOrchestrationCancelRequested', reason: DROPPED_FUTURE };
    case 'external':
      return { kind: 'ExternalSubscribedCancelled', reason: DROPPED_FUTURE };
    case 'queue':
      return { kind: 'ExternalSubscribedPersistentCancelled', reason: DROPPED_FUTURE };
    default:
      return assertNever(kind, 'drop');
  }
}

/** The schedules that a stored history says the code dropped, by kind. */
export type RecordedDrops = Readonly<Record<DropKind, ReadonlySet<number>>>;

export function recordedDrops(history: readonly HistoryEvent[]): RecordedDrops {
  const drops = {
    activity: new Set<number>(),
    suborchestration: new Set<number>(),
    external: new Set<number>(),
    queue: new Set<number>(),
  };
  for (const event of history) {
    const kind = breadcrumbKind(event);
    if (kind && event.sourceEventId !== null) drops[kind].add(event.sourceEventId);
  }
  return drops;
}

function breadcrumbKind(event: HistoryEvent): DropKind | undefined {
  switch (event.kind) {
    case 'ActivityCancelRequested':
      return event.reason === DROPPED_FUTURE ? 'activity' : undefined;
    case 'SubOrchestrationCancelRequested':
      return event.reason === DROPPED_FUTURE ? 'suborchestration' : undefined;
    case 'ExternalSubscribedCancelled':
      return event.reason === DROPPED_FUTURE ? 'external' : undefined;
    case 'ExternalSubscribedPersistentCancelled':
      return event.reason === DROPPED_FUTURE ? 'queue' : undefined;
    default:
      return undefined;
  }
}

/** Every recorded drop must have happened again; further ones are allowed (runtime.md 2.8). */
export function missingDrop(recorded: RecordedDrops, dropped: RecordedDrops): ErrorDetails | undefined {
  for (const kind of DROP_KINDS) {
    if ([...recorded[kind]].every((id) => dropped[kind].has(id))) continue;
    return nondeterminism(
      `cancellation mismatch (${WORDS[kind]}): baseline_dropped_future_cancel_requests=${debugIds(recorded[kind])} ` +
        `ctx_cancelled_in_replayed_segment=${debugIds(dropped[kind])}`,
    );
  }
  return undefined;
}

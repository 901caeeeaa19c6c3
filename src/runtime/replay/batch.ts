import type { WorkItem, WorkItemOf } from '../../wire/work-item.js';
import type { EventBody, EventOf, HistoryEvent } from '../../wire/event.js';
import type { ParentLink, StartRecord } from './turn.js';

/** A message that begins an execution. */
export type StartItem = WorkItemOf<'StartOrchestration' | 'ContinueAsNew'>;

/** The messages of a fetched instance, sorted by what they are for (runtime.md 1.4 step 5). */
export interface MessageBatch {
  /** The continue-as-new item if there is one (it carries state), else the first start. */
  readonly start: StartItem | undefined;
  /** What the turn takes: messages carried over first, then the others in queue order. */
  readonly messages: readonly WorkItem[];
  /** Start items beside `start`, to be answered or ignored. */
  readonly otherStarts: readonly StartItem[];
}

export function readBatch(items: readonly WorkItem[]): MessageBatch {
  const starts: StartItem[] = [];
  const messages: WorkItem[] = [];
  for (const item of items) {
    if (item.kind === 'StartOrchestration' || item.kind === 'ContinueAsNew') starts.push(item);
    else if (item.kind !== 'ActivityExecute') messages.push(item);
  }
  const start = starts.find((item) => item.kind === 'ContinueAsNew') ?? starts[0];
  const carried = start?.kind === 'ContinueAsNew' ? carriedMessages(start) : [];
  return {
    start,
    messages: [...carried, ...messages],
    otherStarts: starts.filter((item) => item !== start),
  };
}

function carriedMessages(item: WorkItemOf<'ContinueAsNew'>): WorkItem[] {
  return item.carryForwardEvents.map(([name, data]) => ({
    kind: 'QueueMessage',
    instance: item.instance,
    name,
    data,
  }));
}

/** What the first event of the new execution is made from; `version` is the one that was resolved. */
export function startRecord(item: StartItem, version: string): StartRecord {
  return {
    name: item.orchestration,
    version,
    input: item.input,
    parent: parentOf(item),
    ...(item.kind === 'ContinueAsNew' && {
      carryForwardEvents: item.carryForwardEvents.length > 0 ? item.carryForwardEvents : undefined,
      initialCustomStatus: item.initialCustomStatus,
    }),
  };
}

/** The first event of an execution. */
export function startedBody({ parent, ...start }: StartRecord): EventBody {
  return {
    kind: 'OrchestrationStarted',
    name: start.name,
    version: start.version,
    input: start.input,
    parentInstance: parent?.instance ?? null,
    parentId: parent?.id ?? null,
    parentExecutionId: parent?.executionId,
    carryForwardEvents: start.carryForwardEvents,
    initialCustomStatus: start.initialCustomStatus,
  };
}

/** Who waits for the instance that a start item begins, if anybody. */
export function parentOf(item: StartItem): ParentLink | undefined {
  if (typeof item.parentInstance !== 'string' || typeof item.parentId !== 'number') return undefined;
  return { instance: item.parentInstance, id: item.parentId, executionId: item.parentExecutionId };
}

/** Who waits for the instance of this history, if anybody. */
export function parentOfHistory(history: readonly HistoryEvent[]): ParentLink | undefined {
  const started = history.find((event): event is EventOf<'OrchestrationStarted'> => {
    return event.kind === 'OrchestrationStarted';
  });
  return started && parentOfStarted(started);
}

export function parentOfStarted(started: EventOf<'OrchestrationStarted'>): ParentLink | undefined {
  if (started.parentInstance === null || started.parentId === null) return undefined;
  return { instance: started.parentInstance, id: started.parentId, executionId: started.parentExecutionId };
}

/**
 * Whether the result of this child can only be addressed with the parent's current
 * execution id, which the caller has to look up (`ColdTurn.parentExecutionId`).
 */
export function needsParentExecution(parent: ParentLink | undefined): boolean {
  return parent !== undefined && parent.executionId === undefined;
}

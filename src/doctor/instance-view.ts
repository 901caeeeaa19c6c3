import type { WorkItem } from '../wire/work-item.js';

/** What a page of the check knows of one instance beside its history. */
export interface InstanceView {
  readonly instance: string;
  readonly currentExecutionId: number;
  /** Of the current execution; null when it has no row. */
  readonly status: string | null;
  readonly customStatusHash: string | null;
  /** Messages that wait for the instance, those set aside left out. */
  readonly queued: QueuedMessages;
  /** Activities of the instance in the worker queue: `<execution>:<activity>` → how many rows. */
  readonly work: Map<string, number>;
}

/** The messages of one instance in the orchestrator queue, as far as the check compares them with history. */
export class QueuedMessages {
  total = 0;
  hasContinueAsNew = false;
  /** Outcomes by `<kind>:<execution>:<decision>` → how many rows. */
  readonly outcomes = new Map<string, number>();

  add(item: WorkItem): void {
    this.total += 1;
    if (item.kind === 'ContinueAsNew') this.hasContinueAsNew = true;
    const key = outcomeKey(item);
    if (key !== undefined) this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
  }
}

/** The kinds of decisions that have an outcome of their own. */
export type DecisionKind = 'activity' | 'timer' | 'child';

export function decisionKey(kind: DecisionKind, executionId: number | 'unknown', eventId: number): string {
  return `${kind}:${executionId}:${eventId}`;
}

/** Which decision a message is the outcome of; the execution is unknown in records of old natives. */
export function outcomeKey(item: WorkItem): string | undefined {
  switch (item.kind) {
    case 'ActivityCompleted':
    case 'ActivityFailed':
      return decisionKey('activity', item.executionId, item.id);
    case 'TimerFired':
      return decisionKey('timer', item.executionId, item.id);
    case 'SubOrchCompleted':
    case 'SubOrchFailed':
      return decisionKey('child', item.parentExecutionId ?? 'unknown', item.parentId);
    default:
      return undefined;
  }
}

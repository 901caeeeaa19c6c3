import type { ErrorDetails } from '../../src/wire/error-details.js';
import type { EventBody, EventOf, HistoryEvent } from '../../src/wire/event.js';
import type { WorkItem } from '../../src/wire/work-item.js';

/** The instance that histories and messages of a test belong to unless they say otherwise. */
export const INSTANCE = 'inst';

/** A moment for everything that needs one. */
export const T0 = 1_700_000_000_000;

export function activityError(message: string): ErrorDetails {
  return { kind: 'Application', application: { kind: 'ActivityFailed' }, message, retryable: false };
}

export function orchestrationError(message: string): ErrorDetails {
  return { kind: 'Application', application: { kind: 'OrchestrationFailed' }, message, retryable: false };
}

export const SYSTEM_ERRORS: Readonly<Record<'infrastructure' | 'configuration' | 'poison', ErrorDetails>> = {
  infrastructure: { kind: 'Infrastructure', operation: 'op', message: 'down', retryable: true },
  configuration: { kind: 'Configuration', configuration: 'Nondeterminism', resource: 'r', message: 'bad' },
  poison: {
    kind: 'Poison',
    attemptCount: 11,
    maxAttempts: 10,
    messageType: { kind: 'Activity', instance: INSTANCE, executionId: 1, activityName: 'A', activityId: 2 },
    message: '{}',
  },
};

/**
 * A stored history, event by event. Ids count from 1 unless `at` moves the counter; the
 * methods are named after what happened, and chain.
 */
export class HistoryBuilder {
  readonly events: HistoryEvent[] = [];
  private nextId = 1;

  constructor(
    private readonly executionId = 1,
    private readonly instance = INSTANCE,
  ) {}

  /** The next event gets this id. */
  at(eventId: number): this {
    this.nextId = eventId;
    return this;
  }

  add(body: EventBody, sourceEventId: number | null = null): this {
    this.events.push({
      eventId: this.nextId,
      sourceEventId,
      instanceId: this.instance,
      executionId: this.executionId,
      timestampMs: T0 + this.nextId,
      duroxideVersion: '0.1.30',
      ...body,
    });
    this.nextId++;
    return this;
  }

  started(overrides: Partial<Omit<EventOf<'OrchestrationStarted'>, 'kind'>> = {}): this {
    return this.add({
      kind: 'OrchestrationStarted',
      name: 'Orch',
      version: '1.0.0',
      input: '"in"',
      parentInstance: null,
      parentId: null,
      ...overrides,
    });
  }

  activity(name: string, input = '1', extra: { sessionId?: string; tag?: string } = {}): this {
    return this.add({ kind: 'ActivityScheduled', name, input, ...extra });
  }
  activityDone(source: number, result = '"done"'): this {
    return this.add({ kind: 'ActivityCompleted', result }, source);
  }
  activityFailed(source: number, details: ErrorDetails | string = 'failed'): this {
    return this.add(
      { kind: 'ActivityFailed', details: typeof details === 'string' ? activityError(details) : details },
      source,
    );
  }
  activityCancelled(source: number, reason = 'dropped_future'): this {
    return this.add({ kind: 'ActivityCancelRequested', reason }, source);
  }

  timer(fireAtMs = T0 + 1000): this {
    return this.add({ kind: 'TimerCreated', fireAtMs });
  }
  timerFired(source: number, fireAtMs = T0 + 1000): this {
    return this.add({ kind: 'TimerFired', fireAtMs }, source);
  }

  subscribed(name: string): this {
    return this.add({ kind: 'ExternalSubscribed', name });
  }
  event(name: string, data = '"data"'): this {
    return this.add({ kind: 'ExternalEvent', name, data });
  }
  subscriptionCancelled(source: number, reason = 'dropped_future'): this {
    return this.add({ kind: 'ExternalSubscribedCancelled', reason }, source);
  }

  dequeued(name: string): this {
    return this.add({ kind: 'ExternalSubscribedPersistent', name });
  }
  message(name: string, data = '"msg"'): this {
    return this.add({ kind: 'ExternalEventPersistent', name, data });
  }
  dequeueCancelled(source: number, reason = 'dropped_future'): this {
    return this.add({ kind: 'ExternalSubscribedPersistentCancelled', reason }, source);
  }

  child(name: string, instance = `sub::${this.nextId}`, input = '1'): this {
    return this.add({ kind: 'SubOrchestrationScheduled', name, instance, input });
  }
  childDone(source: number, result = '"child"'): this {
    return this.add({ kind: 'SubOrchestrationCompleted', result }, source);
  }
  childFailed(source: number, details: ErrorDetails | string = 'child failed'): this {
    return this.add(
      {
        kind: 'SubOrchestrationFailed',
        details: typeof details === 'string' ? orchestrationError(details) : details,
      },
      source,
    );
  }
  childCancelled(source: number, reason = 'dropped_future'): this {
    return this.add({ kind: 'SubOrchestrationCancelRequested', reason }, source);
  }

  chained(name: string, instance: string, input = '1'): this {
    return this.add({ kind: 'OrchestrationChained', name, instance, input });
  }
  status(status: string | null): this {
    return this.add({ kind: 'CustomStatusUpdated', status });
  }
  kvSet(key: string, value: string, lastUpdatedAtMs = T0): this {
    return this.add({ kind: 'KeyValueSet', key, value, lastUpdatedAtMs });
  }
  kvCleared(key: string): this {
    return this.add({ kind: 'KeyValueCleared', key });
  }
  kvClearedAll(): this {
    return this.add({ kind: 'KeyValuesCleared' });
  }
  cancelRequested(reason = 'stop'): this {
    return this.add({ kind: 'OrchestrationCancelRequested', reason });
  }
  completed(output = '"out"'): this {
    return this.add({ kind: 'OrchestrationCompleted', output });
  }
  failed(details: ErrorDetails = orchestrationError('failed')): this {
    return this.add({ kind: 'OrchestrationFailed', details });
  }
  continuedAsNew(input = '"next"'): this {
    return this.add({ kind: 'OrchestrationContinuedAsNew', input });
  }
}

/** A history that begins with its start event. */
export function started(overrides: Partial<Omit<EventOf<'OrchestrationStarted'>, 'kind'>> = {}): HistoryBuilder {
  return new HistoryBuilder().started(overrides);
}

/** Queue messages, all for {@link INSTANCE}. */
export const message = {
  activityDone: (id: number, result = '"done"', executionId = 1): WorkItem => {
    return { kind: 'ActivityCompleted', instance: INSTANCE, executionId, id, result };
  },
  activityFailed: (id: number, details: ErrorDetails | string = 'failed', executionId = 1): WorkItem => ({
    kind: 'ActivityFailed',
    instance: INSTANCE,
    executionId,
    id,
    details: typeof details === 'string' ? activityError(details) : details,
  }),
  timerFired: (id: number, fireAtMs = T0 + 1000, executionId = 1): WorkItem => {
    return { kind: 'TimerFired', instance: INSTANCE, executionId, id, fireAtMs };
  },
  raised: (name: string, data = '"data"'): WorkItem => ({ kind: 'ExternalRaised', instance: INSTANCE, name, data }),
  queued: (name: string, data = '"msg"'): WorkItem => ({ kind: 'QueueMessage', instance: INSTANCE, name, data }),
  cancel: (reason = 'stop'): WorkItem => ({ kind: 'CancelInstance', instance: INSTANCE, reason }),
  childDone: (parentId: number, result = '"child"', parentExecutionId: number | undefined = 1): WorkItem => {
    return { kind: 'SubOrchCompleted', parentInstance: INSTANCE, parentExecutionId, parentId, result };
  },
  childFailed: (
    parentId: number,
    details: ErrorDetails | string = 'child failed',
    parentExecutionId: number | undefined = 1,
  ): WorkItem => ({
    kind: 'SubOrchFailed',
    parentInstance: INSTANCE,
    parentExecutionId,
    parentId,
    details: typeof details === 'string' ? orchestrationError(details) : details,
  }),
};

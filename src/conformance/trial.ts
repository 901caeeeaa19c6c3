import type { FakeClock } from '../base/clock.js';
import { ProviderError } from '../provider/provider-error.js';
import type {
  Abandon,
  AckOrchestrationItem,
  ExecutionMetadata,
  FetchOrchestrationItems,
  FetchWorkItems,
  LockedOrchestrationItem,
  LockedWorkItem,
  OrchestrationLock,
  Provider,
  SessionConfig,
  WorkItemLock,
} from '../provider/provider.js';
import { enqueueForOrchestrator, fetchWorkItem, only } from '../provider/single-forms.js';
import type { EventBody, HistoryEvent } from '../wire/event.js';
import type { WorkItem } from '../wire/work-item.js';
import type { OptionalHelper, ProviderUnderTest } from './provider-under-test.js';
import { externalRaised, ORCHESTRATION, started, startItem, VERSION } from './records.js';
import type { Expect } from './runner.js';
import { TestInstance } from './test-instance.js';

/** Long enough that a lock never ends unless a check moves the clock that far. */
export const LONG_LOCK_MS = 30_000;
/** The lock whose end a check waits for. */
export const LOCK_MS = 5_000;

/** Only a guard against hanging. */
const GIVE_UP_AFTER_MS = 20_000;

/** What a turn commits; absent parts are empty. */
export type Turn = Partial<Omit<AckOrchestrationItem, 'instance' | 'lockToken'>>;

/** How a test instance comes into being. */
export interface CreateInstance {
  readonly name?: string;
  readonly version?: string;
  readonly parent?: string;
  readonly start?: Partial<Extract<EventBody, { kind: 'OrchestrationStarted' }>>;
  /** Further events of the first turn, from event id 2. */
  readonly events?: readonly EventBody[];
  readonly workerItems?: readonly WorkItem[];
  readonly orchestratorItems?: readonly WorkItem[];
  readonly metadata?: ExecutionMetadata;
}

/** One check at work: a provider, its clock, and the moves that checks are made of. */
export class Trial {
  readonly provider: Provider;
  readonly clock: FakeClock;

  constructor(
    readonly sut: ProviderUnderTest,
    readonly expect: Expect,
  ) {
    this.provider = sut.provider;
    this.clock = sut.clock;
  }

  /** An optional helper. @throws Error when the implementation leaves it out. */
  need<K extends OptionalHelper>(name: K): NonNullable<ProviderUnderTest[K]> {
    const helper = this.sut[name];
    if (helper === undefined) {
      throw new Error(`this check needs the helper '${name}': provide it, or put the check into the table of skips`);
    }
    return (typeof helper === 'function' ? helper.bind(this.sut) : helper) as NonNullable<ProviderUnderTest[K]>;
  }

  // Orchestrations

  enqueue(item: WorkItem, delayMs?: number): Promise<void> {
    return enqueueForOrchestrator(this.provider, item, delayMs);
  }

  /** Raises an event, so that the instance becomes ready. */
  poke(instance: string): Promise<void> {
    return this.enqueue(externalRaised(instance));
  }

  /**
   * One ready instance, or `null`. Asks again while something was lost: the advisory keys
   * of a database know no schemas, so that a neighbouring test may hold the key of an
   * instance of the same name (provider.md 1.6).
   */
  async fetch(params: Partial<Omit<FetchOrchestrationItems, 'limit'>> = {}): Promise<LockedOrchestrationItem | null> {
    let found: LockedOrchestrationItem | undefined;
    await this.until('the lost instance is free', async () => {
      const { items, lost } = await this.provider.fetchOrchestrationItems({
        limit: 1,
        lockTimeoutMs: LONG_LOCK_MS,
        ...params,
      });
      found = items[0];
      return found !== undefined || lost === 0;
    });
    return found ?? null;
  }

  /** A name that no neighbouring test has, for checks in which nothing may be lost to one. */
  unique(prefix: string): string {
    return `${prefix}-${Math.random().toString(36).slice(2)}`;
  }

  /** The next ready instance, which must be this one. */
  async take(
    instance: string,
    params: Partial<Omit<FetchOrchestrationItems, 'limit'>> = {},
  ): Promise<LockedOrchestrationItem> {
    const item = await this.fetch(params);
    this.expect(item?.instance).toBe(instance);
    return item as LockedOrchestrationItem;
  }

  async expectNothingReady(params: Partial<Omit<FetchOrchestrationItems, 'limit'>> = {}): Promise<void> {
    this.expect(await this.fetch(params)).toBeNull();
  }

  async ack({ instance, lockToken }: OrchestrationLock, turn: Turn = {}): Promise<void> {
    only(await this.provider.ackOrchestrationItems([ackOf({ instance, lockToken }, turn)]));
  }

  async abandon({ instance, lockToken }: OrchestrationLock, how: Abandon = {}): Promise<void> {
    only(await this.provider.abandonOrchestrationItems([{ instance, lockToken, ...how }]));
  }

  async renew({ instance, lockToken }: OrchestrationLock, extendMs: number): Promise<void> {
    only(await this.provider.renewOrchestrationItemLocks([{ instance, lockToken, extendMs }]));
  }

  // Activities

  async schedule(...items: readonly WorkItem[]): Promise<void> {
    for (const result of await this.provider.enqueueForWorker(items)) only([result]);
  }

  /** One worker item, or `null`; untagged and without a session unless `params` say otherwise. */
  fetchWork(params: Partial<Omit<FetchWorkItems, 'limit'>> = {}): Promise<LockedWorkItem | null> {
    return fetchWorkItem(this.provider, {
      lockTimeoutMs: LONG_LOCK_MS,
      tagFilter: { kind: 'defaultOnly' },
      ...params,
    });
  }

  /** The next worker item, which must be this activity. */
  async takeWork(activityId: number, params: Partial<Omit<FetchWorkItems, 'limit'>> = {}): Promise<LockedWorkItem> {
    const locked = await this.fetchWork(params);
    this.expect(locked?.item).toMatchObject({ kind: 'ActivityExecute', id: activityId });
    return locked as LockedWorkItem;
  }

  async expectNoWork(params: Partial<Omit<FetchWorkItems, 'limit'>> = {}): Promise<void> {
    this.expect(await this.fetchWork(params)).toBeNull();
  }

  async ackWork({ instance, lockToken }: WorkItemLock, completion?: WorkItem): Promise<void> {
    only(await this.provider.ackWorkItems([{ instance, lockToken, completion }]));
  }

  async abandonWork({ instance, lockToken }: WorkItemLock, how: Abandon = {}): Promise<void> {
    only(await this.provider.abandonWorkItems([{ instance, lockToken, ...how }]));
  }

  async renewWork({ instance, lockToken }: WorkItemLock, extendMs: number): Promise<void> {
    only(await this.provider.renewWorkItemLocks([{ instance, lockToken, extendMs }]));
  }

  // Instances

  /**
   * Enqueues a start, fetches it and acknowledges execution 1 with
   * `OrchestrationStarted` as event 1. Nothing else may be ready meanwhile.
   */
  async create(instance: string, how: CreateInstance = {}): Promise<TestInstance> {
    const name = how.name ?? ORCHESTRATION;
    const version = how.version ?? VERSION;
    const parentInstance = how.parent ?? null;
    const parentId = how.parent === undefined ? null : 2;
    await this.enqueue(startItem(instance, { orchestration: name, version, parentInstance, parentId }));
    const item = await this.take(instance);
    const created = new TestInstance(this, instance);
    await created.commit(item, {
      events: [started({ name, version, parentInstance, parentId, ...how.start }), ...(how.events ?? [])],
      workerItems: how.workerItems ?? [],
      orchestratorItems: how.orchestratorItems ?? [],
      metadata: {
        orchestrationName: name,
        orchestrationVersion: version,
        parentInstanceId: how.parent,
        ...how.metadata,
      },
    });
    return created;
  }

  /** An instance that ended in its first turn. */
  createFinished(instance: string, how: CreateInstance & { status?: 'Completed' | 'Failed' } = {}) {
    const { status = 'Completed', ...create } = how;
    const last: EventBody =
      status === 'Completed'
        ? { kind: 'OrchestrationCompleted', output: '"done"' }
        : {
            kind: 'OrchestrationFailed',
            details: {
              kind: 'Application',
              application: { kind: 'OrchestrationFailed' },
              message: 'failed',
              retryable: false,
            },
          };
    return this.create(instance, {
      ...create,
      events: [...(create.events ?? []), last],
      metadata: { status, output: status === 'Completed' ? '"done"' : 'failed', ...create.metadata },
    });
  }

  // Expectations

  /** The promise rejects with a permanent provider error whose text fits. */
  async fails(promise: Promise<unknown>, text?: RegExp): Promise<ProviderError> {
    const error = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!ProviderError.is(error)) {
      throw new Error('expected a ProviderError', error === undefined ? undefined : { cause: error });
    }
    this.expect(error.retryable).toBe(false);
    if (text) this.expect(error.message).toMatch(text);
    return error;
  }

  /** Asks until it is so. @throws Error with what it waited for, if that never comes. */
  async until(what: string, condition: () => Promise<boolean>): Promise<void> {
    const giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
    while (!(await condition())) {
      if (performance.now() > giveUpAt) throw new Error(`waited in vain until ${what}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The kinds of the messages of a fetched item, in order. */
  kinds(item: LockedOrchestrationItem): string[] {
    return item.messages.map(({ kind }) => kind);
  }
}

/** Fills the parts of a turn that were left out. */
export function ackOf(lock: OrchestrationLock, turn: Turn): AckOrchestrationItem {
  return {
    executionId: 1,
    historyDelta: [],
    workerItems: [],
    orchestratorItems: [],
    metadata: {},
    cancelledActivities: [],
    ...turn,
    instance: lock.instance,
    lockToken: lock.lockToken,
  };
}

/** Events of a fetched item, which must have come in full. */
export function eventsOf(item: LockedOrchestrationItem): readonly HistoryEvent[] {
  if (item.history.kind !== 'full') throw new Error('expected a full history');
  return item.history.events;
}

/** Values of a snapshot by key. */
export function snapshotValues(item: LockedOrchestrationItem): Record<string, string> {
  return Object.fromEntries([...(item.kvSnapshot ?? [])].map(([key, { value }]) => [key, value]));
}

/** A session configuration of an owner. */
export function ownedBy(ownerId: string, lockTimeoutMs = LONG_LOCK_MS): { session: SessionConfig } {
  return { session: { ownerId, lockTimeoutMs } };
}

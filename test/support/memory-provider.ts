import { randomUUID } from 'node:crypto';
import type { Clock } from '../../src/base/clock.js';
import { FakeClock } from '../../src/base/clock.js';
import type { ProviderAdmin } from '../../src/provider/admin.js';
import { announcingAdmin } from '../../src/provider/announcing-admin.js';
import type {
  Abandon,
  AckOrchestrationItem,
  Due,
  EndListener,
  EnqueueForOrchestrator,
  FetchedOrchestrationItems,
  FetchOrchestrationItems,
  FetchWorkItems,
  InstanceState,
  InstanceStats,
  KvEntry,
  LoadedHistory,
  LockedOrchestrationItem,
  LockedWorkItem,
  OrchestrationLock,
  Provider,
  QueueName,
  Renewal,
  Result,
  TransactionScope,
  WorkItemLock,
} from '../../src/provider/provider.js';
import { errorTexts, ProviderError, UnsupportedError } from '../../src/provider/provider-error.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import type { WorkItem, WorkItemOf } from '../../src/wire/work-item.js';
import { decodeWorkItem, encodeWorkItem, targetInstance } from '../../src/wire/work-item.js';

interface Message {
  readonly id: number;
  readonly instance: string;
  text: string;
  visibleAtMs: number;
  token: string | null;
  lockedUntilMs: number;
  attempts: number;
}

interface Execution {
  status: string;
  output: string | null;
  readonly startedAtMs: number;
  completedAtMs: number | null;
  /** Stored texts, by event id. */
  readonly events: Map<number, string>;
}

interface Instance {
  name: string;
  version: string | null;
  current: number;
  parent: string | null;
  status: string | null;
  statusVersion: number;
  readonly createdAtMs: number;
}

/**
 * The provider contract in memory, for tests of the runtime that want neither a database
 * nor its speed. It keeps texts, like a database, so that nothing is shared by reference.
 * Not a product: the conformance suite decides what a provider is.
 */
export class MemoryProvider implements Provider {
  readonly instances = new Map<string, Instance>();
  readonly executions = new Map<string, Map<number, Execution>>();
  readonly locks = new Map<string, { token: string; untilMs: number }>();
  orchestratorQueue: Message[] = [];
  workerQueue: Message[] = [];
  readonly kv = new Map<string, Map<string, KvEntry>>();
  readonly kvDelta = new Map<string, Map<string, { value: string | null; lastUpdatedAtMs: number }>>();
  readonly sessions = new Map<string, { owner: string; untilMs: number; lastActivityMs: number }>();
  /** Every call by its name, in order. */
  readonly calls: string[] = [];
  /** How many elements each call had. */
  readonly batches: { readonly call: string; readonly size: number }[] = [];
  tailLoads = true;
  sharedWithNative = false;
  private nextId = 1;
  private readonly wakeListeners = new Set<(queue: QueueName) => void>();
  private readonly deletionListeners = new Set<() => void>();
  private readonly endListeners = new Set<EndListener>();

  constructor(readonly clock: Clock = new FakeClock()) {}

  name(): string {
    return 'memory';
  }
  version(): string {
    return '0';
  }
  nowMs(): number {
    return this.clock.nowMs();
  }

  async fetchOrchestrationItems(params: FetchOrchestrationItems): Promise<FetchedOrchestrationItems> {
    await this.called('fetchOrchestrationItems', params.limit);
    const nowMs = this.nowMs();
    const ready = new Set<string>();
    const visible = this.orchestratorQueue.filter((row) => row.visibleAtMs <= nowMs && this.free(row, nowMs));
    for (const row of visible.sort((a, b) => a.visibleAtMs - b.visibleAtMs || a.id - b.id)) {
      if (ready.size === params.limit) break;
      if ((this.locks.get(row.instance)?.untilMs ?? 0) <= nowMs && this.mayRun(row.instance, params)) {
        ready.add(row.instance);
      }
    }
    const items = [...ready].flatMap((instance) => this.claim(instance, params, nowMs) ?? []);
    return { items, lost: 0 };
  }

  async ackOrchestrationItems(turns: readonly AckOrchestrationItem[]): Promise<Result[]> {
    await this.called('ackOrchestrationItems', turns.length);
    const ended: string[] = [];
    const results = turns.map((turn): Result => {
      const result = this.ackOne(turn);
      const { status } = turn.metadata;
      if (result.ok && (status === 'Completed' || status === 'Failed')) ended.push(turn.instance);
      return result;
    });
    if (ended.length > 0) for (const listener of this.endListeners) listener(ended, []);
    return results;
  }

  async abandonOrchestrationItems(elements: readonly (OrchestrationLock & Abandon)[]): Promise<Result[]> {
    await this.called('abandonOrchestrationItems', elements.length);
    return elements.map(({ instance, lockToken, delayMs = 0, ignoreAttempt }) => {
      if (this.locks.get(instance)?.token !== lockToken)
        return refused('abandon_orchestration_item', errorTexts.invalidLockToken);
      this.locks.delete(instance);
      for (const row of this.orchestratorQueue.filter(({ token }) => token === lockToken)) {
        this.giveBack(row, delayMs > 0 ? this.nowMs() + delayMs : row.visibleAtMs, ignoreAttempt);
      }
      return OK;
    });
  }

  async renewOrchestrationItemLocks(elements: readonly (OrchestrationLock & Renewal)[]): Promise<Result[]> {
    await this.called('renewOrchestrationItemLocks', elements.length);
    const nowMs = this.nowMs();
    return elements.map(({ instance, lockToken, extendMs }) => {
      const lock = this.locks.get(instance);
      if (lock?.token !== lockToken || lock.untilMs <= nowMs) {
        return refused('renew_orchestration_item_lock', errorTexts.orchestrationLockLost);
      }
      lock.untilMs = nowMs + extendMs;
      for (const row of this.orchestratorQueue) if (row.token === lockToken) row.lockedUntilMs = nowMs + extendMs;
      return OK;
    });
  }

  async fetchWorkItems({
    limit,
    lockTimeoutMs,
    session,
    maxNewSessions = Infinity,
    tagFilter,
  }: FetchWorkItems): Promise<LockedWorkItem[]> {
    await this.called('fetchWorkItems', limit);
    const nowMs = this.nowMs();
    const taken: LockedWorkItem[] = [];
    let newSessions = 0;
    for (const row of this.workerQueue) {
      if (taken.length === limit) break;
      if (row.visibleAtMs > nowMs || !this.free(row, nowMs)) continue;
      const item = decodeWorkItem(row.text);
      const { sessionId, tag } = item.kind === 'ActivityExecute' ? item : { sessionId: undefined, tag: undefined };
      if (!tagMatches(tagFilter, tag)) continue;
      if (sessionId !== undefined) {
        if (!session) continue;
        const known = this.sessions.get(sessionId);
        const live = known !== undefined && known.untilMs > nowMs;
        if (live && known.owner !== session.ownerId) continue;
        if (!live && newSessions++ >= maxNewSessions) continue;
        this.sessions.set(sessionId, {
          owner: session.ownerId,
          untilMs: nowMs + session.lockTimeoutMs,
          lastActivityMs: nowMs,
        });
      }
      row.token = `lock_${randomUUID()}:${row.id}`;
      row.lockedUntilMs = nowMs + lockTimeoutMs;
      row.attempts += 1;
      taken.push({ item, instance: row.instance, lockToken: row.token, attemptCount: row.attempts });
    }
    return taken;
  }

  async ackWorkItems(
    elements: readonly (WorkItemLock & { readonly completion?: WorkItem | undefined })[],
  ): Promise<Result[]> {
    await this.called('ackWorkItems', elements.length);
    const nowMs = this.nowMs();
    return elements.map(({ lockToken, completion }) => {
      const row = this.workerQueue.find(({ token, lockedUntilMs }) => token === lockToken && lockedUntilMs > nowMs);
      if (!row) return refused('ack_worker', errorTexts.workItemNotFound);
      this.workerQueue = this.workerQueue.filter((other) => other !== row);
      if (completion) this.push(completion);
      return OK;
    });
  }

  async abandonWorkItems(elements: readonly (WorkItemLock & Abandon)[]): Promise<Result[]> {
    await this.called('abandonWorkItems', elements.length);
    return elements.map(({ lockToken, delayMs = 0, ignoreAttempt }) => {
      const row = this.workerQueue.find(({ token }) => token === lockToken);
      if (!row) return refused('abandon_work_item', errorTexts.abandonedWorkItemNotFound);
      this.giveBack(row, this.nowMs() + delayMs, ignoreAttempt);
      return OK;
    });
  }

  async renewWorkItemLocks(elements: readonly (WorkItemLock & Renewal)[]): Promise<Result[]> {
    await this.called('renewWorkItemLocks', elements.length);
    const nowMs = this.nowMs();
    return elements.map(({ lockToken, extendMs }) => {
      const row = this.workerQueue.find(({ token, lockedUntilMs }) => token === lockToken && lockedUntilMs > nowMs);
      if (!row) return refused('renew_work_item_lock', errorTexts.workItemLockLost);
      row.lockedUntilMs = nowMs + extendMs;
      return OK;
    });
  }

  async enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]): Promise<Result[]> {
    await this.called('enqueueForOrchestrator', elements.length);
    for (const { item, delayMs = 0 } of elements) this.push(item, delayMs);
    return elements.map(() => OK);
  }

  async enqueueForWorker(items: readonly WorkItem[]): Promise<Result[]> {
    await this.called('enqueueForWorker', items.length);
    for (const item of items) this.pushWork(item);
    return items.map(() => OK);
  }

  async enqueueStartIfAbsent(item: WorkItemOf<'StartOrchestration'>): Promise<boolean> {
    await this.called('enqueueStartIfAbsent', 1);
    const waits = this.orchestratorQueue.some(
      (row) => row.instance === item.instance && decodeWorkItem(row.text).kind === 'StartOrchestration',
    );
    if (waits || this.instances.has(item.instance)) return false;
    this.push(item, 0);
    for (const listener of this.wakeListeners) listener('orchestrator');
    return true;
  }

  async loadHistory({ instance, lockToken }: OrchestrationLock): Promise<LoadedHistory> {
    await this.called('loadHistory', 1);
    if (this.locks.get(instance)?.token !== lockToken) {
      throw ProviderError.permanent('load_history', errorTexts.invalidLockToken);
    }
    const current = this.instances.get(instance)?.current ?? 1;
    return { ...this.readAll(instance, current), kvSnapshot: new Map(this.kv.get(instance)) };
  }

  within(): TransactionScope {
    throw new UnsupportedError('the memory provider has no transactions');
  }

  async due(): Promise<Due> {
    await this.called('due', 1);
    const nowMs = this.nowMs();
    const visible = (rows: readonly Message[]) => rows.some((row) => row.visibleAtMs <= nowMs && this.free(row, nowMs));
    const future = [...this.orchestratorQueue, ...this.workerQueue]
      .map((row) => row.visibleAtMs)
      .filter((at) => at > nowMs);
    return {
      orchestrator: visible(this.orchestratorQueue),
      worker: visible(this.workerQueue),
      nextVisibleAtMs: future.length > 0 ? Math.min(...future) : null,
    };
  }

  onWakeUp(listener: (queue: QueueName) => void): () => void {
    this.wakeListeners.add(listener);
    return () => this.wakeListeners.delete(listener);
  }

  onEnded(listener: EndListener): () => void {
    this.endListeners.add(listener);
    return () => this.endListeners.delete(listener);
  }

  onDeleted(listener: () => void): () => void {
    this.deletionListeners.add(listener);
    return () => this.deletionListeners.delete(listener);
  }

  wakeUps() {
    return { listening: false, sharedWithNative: this.sharedWithNative, notifyTriggers: false };
  }

  async renewSessionLock({
    ownerIds,
    extendMs,
    idleTimeoutMs,
  }: {
    ownerIds: readonly string[];
    extendMs: number;
    idleTimeoutMs: number;
  }): Promise<number> {
    await this.called('renewSessionLock', 1);
    const nowMs = this.nowMs();
    let count = 0;
    for (const session of this.sessions.values()) {
      if (!ownerIds.includes(session.owner) || session.untilMs <= nowMs) continue;
      if (session.lastActivityMs <= nowMs - idleTimeoutMs) continue;
      session.untilMs = nowMs + extendMs;
      count += 1;
    }
    return count;
  }

  async cleanupOrphanedSessions(): Promise<number> {
    await this.called('cleanupOrphanedSessions', 1);
    return 0;
  }

  async read(instance: string): Promise<HistoryEvent[]> {
    return this.eventsOf(instance, Math.max(1, ...(this.executions.get(instance)?.keys() ?? [])));
  }

  async readWithExecution(instance: string, executionId: number): Promise<HistoryEvent[]> {
    return this.eventsOf(instance, executionId);
  }

  async appendWithExecution(instance: string, executionId: number, events: readonly HistoryEvent[]): Promise<void> {
    const execution = this.execution(instance, executionId);
    for (const event of events)
      if (!execution.events.has(event.eventId)) execution.events.set(event.eventId, encodeEvent(event));
  }

  async getCustomStatus(instance: string, lastSeenVersion: number) {
    const known = this.instances.get(instance);
    return known && known.statusVersion > lastSeenVersion
      ? { status: known.status, version: known.statusVersion }
      : null;
  }

  async instanceStates({
    instances,
    endedOnly,
  }: {
    instances: readonly string[];
    endedOnly: boolean;
  }): Promise<InstanceState[]> {
    await this.called('instanceStates', instances.length);
    return instances.flatMap((instance) => {
      const known = this.instances.get(instance);
      if (!known) return [];
      const execution = this.executions.get(instance)?.get(known.current);
      const status = execution?.status ?? 'Running';
      if (endedOnly && status !== 'Completed' && status !== 'Failed') return [];
      return [
        {
          instance,
          orchestrationName: known.name,
          orchestrationVersion: known.version ?? 'unknown',
          executionId: known.current,
          status,
          output: execution?.output ?? null,
          customStatus: known.status,
          customStatusVersion: known.statusVersion,
        },
      ];
    });
  }

  async getKvValues(keys: readonly { instance: string; key: string }[]): Promise<(string | null)[]> {
    await this.called('getKvValues', keys.length);
    return Promise.all(keys.map(({ instance, key }) => this.getKvValue(instance, key)));
  }

  async getKvValue(instance: string, key: string): Promise<string | null> {
    return (await this.getKvAllValues(instance)).get(key) ?? null;
  }

  async getKvAllValues(instance: string): Promise<Map<string, string>> {
    const values = new Map([...(this.kv.get(instance) ?? [])].map(([key, { value }]) => [key, value]));
    for (const [key, { value }] of this.kvDelta.get(instance) ?? []) {
      if (value === null) values.delete(key);
      else values.set(key, value);
    }
    return values;
  }

  async getInstanceStats(): Promise<InstanceStats | null> {
    return null;
  }

  asManagement(): ProviderAdmin {
    const partial: Partial<ProviderAdmin> = {
      listInstances: async () => [...this.instances.keys()].reverse(),
      listExecutions: async (instance) => [...(this.executions.get(instance)?.keys() ?? [])],
      readHistoryWithExecutionId: async (instance, executionId) => this.eventsOf(instance, executionId),
      latestExecutionId: async (instance) => {
        const known = this.instances.get(instance);
        if (!known) throw ProviderError.permanent('latest_execution_id', 'Instance not found');
        return known.current;
      },
      deleteInstance: async (instance) => {
        this.deleteInstance(instance);
        return { instancesDeleted: 1, executionsDeleted: 0, eventsDeleted: 0, queueMessagesDeleted: 0 };
      },
      countByStatus: async () => {
        const running = [...this.instances].filter(
          ([id, { current }]) => this.execution(id, current).status === 'Running',
        );
        return [{ status: 'Running', count: running.length, isEstimate: false }];
      },
      recordWorker: async () => false,
      getQueueDepths: async () => ({
        orchestratorQueue: this.orchestratorQueue.length,
        workerQueue: this.workerQueue.length,
        timerQueue: 0,
      }),
    };
    return announcingAdmin(partial as ProviderAdmin, () => {
      for (const listener of this.deletionListeners) listener();
    });
  }

  async close(): Promise<void> {}

  /** Deletes an instance with all its rows, as an administrator does. */
  deleteInstance(instance: string): void {
    this.instances.delete(instance);
    this.executions.delete(instance);
    this.locks.delete(instance);
    this.kv.delete(instance);
    this.kvDelta.delete(instance);
    this.orchestratorQueue = this.orchestratorQueue.filter((row) => row.instance !== instance);
    this.workerQueue = this.workerQueue.filter((row) => row.instance !== instance);
  }

  /** Sets the attempts of all messages of an instance or of all activities, as natural faults would. */
  setAttempts(queue: QueueName, attempts: number): void {
    for (const row of queue === 'orchestrator' ? this.orchestratorQueue : this.workerQueue) row.attempts = attempts;
  }

  eventsOf(instance: string, executionId = 1): HistoryEvent[] {
    return this.texts(instance, executionId).map(decodeEvent);
  }

  statusOf(instance: string): string | undefined {
    const known = this.instances.get(instance);
    return known && this.executions.get(instance)?.get(known.current)?.status;
  }

  outputOf(instance: string): string | null | undefined {
    const known = this.instances.get(instance);
    return known && this.executions.get(instance)?.get(known.current)?.output;
  }

  private async called(call: string, size: number): Promise<void> {
    this.calls.push(call);
    this.batches.push({ call, size });
    await Promise.resolve();
  }

  private free(row: Message, nowMs: number): boolean {
    return row.token === null || row.lockedUntilMs <= nowMs;
  }

  private mayRun(instance: string, { filter }: FetchOrchestrationItems): boolean {
    const range = filter?.ranges[0];
    const known = this.instances.get(instance);
    const first = known && this.texts(instance, known.current)[0];
    if (!range || !first) return filter === undefined || range !== undefined;
    const [major = 0, minor = 0, patch = 0] = decodeEvent(first).duroxideVersion.split('.').map(Number);
    const packed = ({ major, minor, patch }: { major: number; minor: number; patch: number }) => {
      return major * 1_000_000 + minor * 1_000 + patch;
    };
    const pin = packed({ major, minor, patch });
    return packed(range.min) <= pin && pin <= packed(range.max);
  }

  private claim(
    instance: string,
    { lockTimeoutMs, held }: FetchOrchestrationItems,
    nowMs: number,
  ): LockedOrchestrationItem[] | undefined {
    const lockToken = `lock_${randomUUID()}:${instance}`;
    const rows = this.orchestratorQueue.filter(
      (row) => row.instance === instance && row.visibleAtMs <= nowMs && this.free(row, nowMs),
    );
    const messages = rows.map(({ text }) => decodeWorkItem(text));
    const known = this.instances.get(instance);
    const [first] = messages;
    if (!known && messages.every(({ kind }) => kind === 'QueueMessage')) {
      this.orchestratorQueue = this.orchestratorQueue.filter((row) => !rows.includes(row));
      return undefined;
    }
    this.locks.set(instance, { token: lockToken, untilMs: nowMs + lockTimeoutMs });
    for (const row of rows) {
      row.token = lockToken;
      row.lockedUntilMs = nowMs + lockTimeoutMs;
      row.attempts += 1;
    }
    const start = first?.kind === 'StartOrchestration' || first?.kind === 'ContinueAsNew' ? first : undefined;
    const executionId = known?.current ?? 1;
    const base = {
      instance,
      orchestrationName: known?.name ?? start?.orchestration ?? 'Unknown',
      executionId,
      version: known?.version ?? start?.version ?? 'unknown',
      lockToken,
      attemptCount: Math.max(1, ...rows.map(({ attempts }) => attempts)),
      messages,
    };
    const wanted = this.tailLoads ? held?.(instance) : undefined;
    if (wanted && wanted.executionId === executionId) {
      const texts = this.texts(instance, executionId);
      const ids = [...(this.executions.get(instance)?.get(executionId)?.events.keys() ?? [])].sort((a, b) => a - b);
      const heldText = texts[ids.indexOf(wanted.lastEventId)] ?? null;
      const events = texts.filter((_, at) => (ids[at] ?? 0) > wanted.lastEventId).map(decodeEvent);
      return [{ ...base, history: { kind: 'tail', heldText, events } }];
    }
    const { events, historyError } = this.readAll(instance, executionId);
    return [{ ...base, history: { kind: 'full', events }, historyError, kvSnapshot: new Map(this.kv.get(instance)) }];
  }

  private readAll(instance: string, executionId: number): { events: HistoryEvent[]; historyError?: string } {
    try {
      return { events: this.eventsOf(instance, executionId) };
    } catch (error) {
      return { events: [], historyError: `Failed to deserialize history: ${String(error)}` };
    }
  }

  private ackOne(turn: AckOrchestrationItem): Result {
    const { instance, lockToken, executionId, metadata, historyDelta } = turn;
    const nowMs = this.nowMs();
    const lock = this.locks.get(instance);
    if (lock?.token !== lockToken || lock.untilMs <= nowMs) {
      return refused('ack_orchestration_item', errorTexts.invalidLockToken);
    }
    const stored = this.executions.get(instance)?.get(executionId)?.events;
    if (historyDelta.some(({ eventId }) => stored?.has(eventId))) {
      return refused('ack_orchestration_item', 'Duplicate detected: event id');
    }
    if (metadata.orchestrationName !== undefined && metadata.orchestrationVersion !== undefined) {
      const known = this.instances.get(instance);
      this.instances.set(instance, {
        current: known?.current ?? executionId,
        status: known?.status ?? null,
        statusVersion: known?.statusVersion ?? 0,
        createdAtMs: known?.createdAtMs ?? nowMs,
        parent: known?.parent ?? metadata.parentInstanceId ?? null,
        name: metadata.orchestrationName,
        version: metadata.orchestrationVersion,
      });
    }
    const known = this.instances.get(instance);
    if (known) {
      known.current = Math.max(known.current, executionId);
      const execution = this.execution(instance, executionId);
      for (const event of historyDelta) execution.events.set(event.eventId, encodeEvent(event));
      if (metadata.status !== undefined) {
        execution.status = metadata.status;
        execution.output = metadata.output ?? null;
        execution.completedAtMs = metadata.status === 'ContinuedAsNew' ? null : nowMs;
      }
      this.applyState(instance, known, historyDelta, metadata.status);
    }
    for (const item of turn.workerItems) this.pushWork(item);
    for (const { instance: of, executionId: execution, activityId } of turn.cancelledActivities) {
      this.workerQueue = this.workerQueue.filter(({ text }) => {
        const item = decodeWorkItem(text);
        return !(
          item.kind === 'ActivityExecute' &&
          item.instance === of &&
          item.executionId === execution &&
          item.id === activityId
        );
      });
    }
    for (const item of turn.orchestratorItems) this.push(item);
    this.orchestratorQueue = this.orchestratorQueue.filter(({ token }) => token !== lockToken);
    this.locks.delete(instance);
    return OK;
  }

  private applyState(
    instance: string,
    known: Instance,
    delta: readonly HistoryEvent[],
    status: string | undefined,
  ): void {
    const change = delta.findLast(({ kind }) => kind === 'CustomStatusUpdated');
    if (change?.kind === 'CustomStatusUpdated') {
      known.status = change.status;
      known.statusVersion += 1;
    }
    const changes = this.kvDelta.get(instance) ?? new Map<string, { value: string | null; lastUpdatedAtMs: number }>();
    for (const event of delta) {
      if (event.kind === 'KeyValueSet')
        changes.set(event.key, { value: event.value, lastUpdatedAtMs: event.lastUpdatedAtMs });
      if (event.kind === 'KeyValueCleared') changes.set(event.key, { value: null, lastUpdatedAtMs: this.nowMs() });
      if (event.kind === 'KeyValuesCleared') {
        for (const key of [...changes.keys(), ...(this.kv.get(instance)?.keys() ?? [])]) {
          changes.set(key, { value: null, lastUpdatedAtMs: this.nowMs() });
        }
      }
    }
    this.kvDelta.set(instance, changes);
    if (status === undefined || status === 'Running') return;
    const values = this.kv.get(instance) ?? new Map<string, KvEntry>();
    for (const [key, { value, lastUpdatedAtMs }] of changes) {
      if (value === null) values.delete(key);
      else values.set(key, { value, lastUpdatedAtMs });
    }
    this.kv.set(instance, values);
    this.kvDelta.delete(instance);
  }

  private execution(instance: string, executionId: number): Execution {
    const all = this.executions.get(instance) ?? new Map<number, Execution>();
    this.executions.set(instance, all);
    const known = all.get(executionId);
    if (known) return known;
    const made: Execution = {
      status: 'Running',
      output: null,
      startedAtMs: this.nowMs(),
      completedAtMs: null,
      events: new Map(),
    };
    all.set(executionId, made);
    return made;
  }

  private texts(instance: string, executionId: number): string[] {
    const events = this.executions.get(instance)?.get(executionId)?.events ?? new Map<number, string>();
    return [...events].sort(([a], [b]) => a - b).map(([, text]) => text);
  }

  private push(item: WorkItem, delayMs = 0): void {
    const nowMs = this.nowMs();
    const fireAtMs = item.kind === 'TimerFired' && item.fireAtMs > 0 ? item.fireAtMs : nowMs;
    const visibleAtMs = Math.max(fireAtMs, delayMs > 0 ? nowMs + delayMs : 0);
    this.orchestratorQueue.push(this.message(targetInstance(item), item, visibleAtMs));
    this.wake('orchestrator', visibleAtMs);
  }

  private pushWork(item: WorkItem): void {
    this.workerQueue.push(this.message(targetInstance(item), item, this.nowMs()));
    this.wake('worker', this.nowMs());
  }

  private wake(queue: QueueName, visibleAtMs: number): void {
    if (visibleAtMs <= this.nowMs()) for (const listener of this.wakeListeners) listener(queue);
  }

  private message(instance: string, item: WorkItem, visibleAtMs: number): Message {
    return {
      id: this.nextId++,
      instance,
      text: encodeWorkItem(item),
      visibleAtMs,
      token: null,
      lockedUntilMs: 0,
      attempts: 0,
    };
  }

  private giveBack(row: Message, visibleAtMs: number, ignoreAttempt = false): void {
    row.token = null;
    row.lockedUntilMs = 0;
    row.visibleAtMs = visibleAtMs;
    if (ignoreAttempt) row.attempts = Math.max(0, row.attempts - 1);
    this.wake(this.workerQueue.includes(row) ? 'worker' : 'orchestrator', visibleAtMs);
  }
}

const OK: Result = { ok: true, value: undefined };

function refused(operation: string, reason: string): Result {
  return { ok: false, error: ProviderError.permanent(operation, reason) };
}

function tagMatches(filter: FetchWorkItems['tagFilter'], tag: string | undefined): boolean {
  switch (filter.kind) {
    case 'defaultOnly':
      return tag === undefined;
    case 'any':
      return true;
    case 'none':
      return false;
    case 'tags':
      return tag !== undefined && filter.tags.includes(tag);
    case 'defaultAnd':
      return tag === undefined || filter.tags.includes(tag);
  }
}

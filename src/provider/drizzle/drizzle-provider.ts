import { POSTGRES_URL, problemOfPostgresUrl } from '../../base/connection-url.js';
import { PACKAGE_VERSION } from '../../base/package-version.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { WorkItem, WorkItemOf } from '../../wire/work-item.js';
import type { ProviderAdmin } from '../admin.js';
import type { ScheduleStore } from '../schedules.js';
import type { StartQueueStore } from '../start-queues.js';
import { announcingAdmin } from '../announcing-admin.js';
import type {
  Abandon,
  AckOrchestrationItem,
  EndListener,
  EndListenerOptions,
  EnqueueForOrchestrator,
  FetchOrchestrationItems,
  FetchWorkItems,
  Ms,
  InstanceState,
  OrchestrationLock,
  Provider,
  QueueName,
  Renewal,
  Result,
  TransactionScope,
  WorkItemLock,
} from '../provider.js';
import { DrizzleProviderAdmin } from './admin/drizzle-provider-admin.js';
import type { ActivityTransactions } from '../activity-transactions.js';
import { DrizzleActivityTransactions } from './activity-transaction/activity-transactions.js';
import { connectToPostgres, embeddedDatabase, withRetriedConnect } from './connect.js';
import type { ProviderContext } from './context.js';
import type { LockThread, LockThreadOptions } from '../lock-thread.js';
import type { DrizzleDatabase } from './drivers/index.js';
import { Endings } from './endings.js';
import { startLockThread } from './lock-thread/start-lock-thread.js';
import { type MigrateOptions, type MigrationReport, migrateSchema } from './migrate/index.js';
import { openProvider, type ProviderParts } from './open-provider.js';
import type { Notice } from './notice.js';
import { abandonOrchestrationItems } from './operations/abandon-orchestration-items.js';
import { abandonWorkItems } from './operations/abandon-work-items.js';
import { ackOrchestrationItems } from './operations/ack-orchestration-items.js';
import { ackWorkItems } from './operations/ack-work-items.js';
import { due } from './operations/due.js';
import { hasEnded, type TellingEnds } from './operations/end-states.js';
import { enqueueForOrchestrator } from './operations/enqueue-for-orchestrator.js';
import { enqueueForWorker } from './operations/enqueue-for-worker.js';
import { enqueueStartIfAbsent } from './operations/enqueue-start-if-absent.js';
import { fetchOrchestrationItems } from './operations/fetch-orchestration-items.js';
import { fetchWorkItems } from './operations/fetch-work-items.js';
import { getCustomStatus } from './operations/get-custom-status.js';
import { getInstanceStats } from './operations/get-instance-stats.js';
import { type InstanceStates, instanceStates } from './operations/instance-states.js';
import { loadHistory } from './operations/load-history.js';
import { appendWithExecution, read, readWithExecution } from './operations/read-history.js';
import { getKvAllValues, getKvValue, getKvValues, type KvKey } from './operations/read-kv.js';
import { renewOrchestrationItemLocks } from './operations/renew-orchestration-item-locks.js';
import { renewWorkItemLocks } from './operations/renew-work-item-locks.js';
import { type ScopeOptions, transactionScope } from './operations/scope/transaction-scope.js';
import { cleanupOrphanedSessions, type RenewSessionLock, renewSessionLock } from './operations/sessions.js';
import type { ConnectOptions, DrizzleProviderOptions } from './options.js';
import { DrizzleScheduleStore } from './schedules/schedule-store.js';
import { DrizzleStartQueueStore } from './start-queues/start-queue-store.js';

/** The options of an embedded database. */
export interface EmbeddedOptions extends DrizzleProviderOptions {
  /** Where the data is kept, or a URL of PGlite's; absent: in memory, gone with the process. */
  readonly directory?: string | undefined;
}

/**
 * The store over a Drizzle database: TypeScript transactions on nine tables, shared with
 * native duroxide where it runs on the same schema. Each method is one file of
 * `operations/` or `admin/`.
 */
export class DrizzleProvider implements Provider {
  readonly locksOwnWork: boolean = true;
  readonly takesDirectTurns: boolean;
  protected readonly ctx: ProviderContext;
  private readonly admin: ProviderAdmin;
  private readonly endings: Endings;
  private readonly transactions: ActivityTransactions;
  private readonly scheduleStore: ScheduleStore;
  private readonly startQueueStore: StartQueueStore | undefined;
  private readonly deletionListeners = new Set<() => void>();
  private closing: Promise<void> | undefined;

  protected constructor(protected readonly parts: ProviderParts) {
    this.ctx = parts.ctx;
    this.admin = this.announcing(new DrizzleProviderAdmin(parts.ctx));
    this.endings = new Endings(parts.ctx.logger);
    this.scheduleStore = new DrizzleScheduleStore(parts.ctx, parts.notifications);
    // pg-mem knows none of the locks that both are made of.
    const hasLocks = parts.ctx.driver.kind !== 'pg-mem';
    this.takesDirectTurns = hasLocks;
    this.startQueueStore = hasLocks ? new DrizzleStartQueueStore(parts.ctx, parts.notifications) : undefined;
    const scopeOf = (tx: unknown) => this.scopeOf(tx, { acksSilently: true });
    this.transactions = new DrizzleActivityTransactions({ ctx: parts.ctx, db: parts.db, scopeOf });
  }

  /**
   * On the database of an application, over `node-postgres`, `postgres-js`, PGlite or
   * another driver of Drizzle's for PostgreSQL.
   * @throws SchemaError, ProviderError, UnsupportedError, RangeError
   */
  static async fromDrizzle(db: DrizzleDatabase, options: DrizzleProviderOptions = {}): Promise<DrizzleProvider> {
    return new this(await openProvider(db, options));
  }

  /** On a `pg.Pool` without Drizzle around it. @throws as {@link fromDrizzle} */
  static async fromPool(pool: object, options: DrizzleProviderOptions = {}): Promise<DrizzleProvider> {
    return new this(await openProvider({ $client: pool }, options));
  }

  /**
   * On a pool of its own, which `close()` ends; needs the package `pg`.
   * @throws as {@link fromDrizzle}
   */
  static async connect(url: string, options: ConnectOptions = {}): Promise<DrizzleProvider> {
    return new this(await openByUrl(url, options));
  }

  /** On a PGlite inside this process, in memory or in a directory; needs the package `@electric-sql/pglite`. */
  static async embedded(options: EmbeddedOptions = {}): Promise<DrizzleProvider> {
    return new this(await openEmbedded(options));
  }

  name(): string {
    return 'duroxide-drizzle';
  }

  version(): string {
    return PACKAGE_VERSION;
  }

  nowMs(): Ms {
    return this.ctx.clock.nowMs();
  }

  fetchOrchestrationItems(params: FetchOrchestrationItems) {
    return fetchOrchestrationItems(this.ctx, params);
  }

  async ackOrchestrationItems(turns: readonly AckOrchestrationItem[]) {
    const states: InstanceState[] = [];
    const notice = this.noticeOfEnd(turns);
    try {
      const results = await this.ackTurns(turns, {
        ended: this.endings.wantsStates ? (ended) => states.push(...ended) : undefined,
        notice,
      });
      const ended = turns.filter((turn, index) => results[index]?.ok === true && hasEnded(turn)).map(({ instance }) => instance);
      if (ended.length > 0) {
        this.endings.tell(ended, states);
        if (!notice?.isUsed) this.parts.notifications.ends.ended(ended);
      }
      return results;
    } finally {
      notice?.release();
    }
  }

  /** Where they end in numbers, one notification afterwards tells of all of them. */
  private noticeOfEnd([turn, second]: readonly AckOrchestrationItem[]): Notice | undefined {
    const isLone = turn !== undefined && second === undefined;
    return isLone && hasEnded(turn) ? this.parts.notifications.noticeOfEnd(turn.instance) : undefined;
  }

  /** The acknowledgement itself, without telling who ended beyond what travels with it, where the store can. */
  protected ackTurns(turns: readonly AckOrchestrationItem[], telling: TellingEnds): Promise<Result[]> {
    return ackOrchestrationItems(this.ctx, turns, telling);
  }

  abandonOrchestrationItems(elements: readonly (OrchestrationLock & Abandon)[]) {
    return abandonOrchestrationItems(this.ctx, elements);
  }

  renewOrchestrationItemLocks(elements: readonly (OrchestrationLock & Renewal)[]) {
    return renewOrchestrationItemLocks(this.ctx, elements);
  }

  fetchWorkItems(params: FetchWorkItems) {
    return fetchWorkItems(this.ctx, params);
  }

  ackWorkItems(elements: readonly (WorkItemLock & { readonly completion?: WorkItem | undefined })[]) {
    return ackWorkItems(this.ctx, elements);
  }

  abandonWorkItems(elements: readonly (WorkItemLock & Abandon)[]) {
    return abandonWorkItems(this.ctx, elements);
  }

  renewWorkItemLocks(elements: readonly (WorkItemLock & Renewal)[]) {
    return renewWorkItemLocks(this.ctx, elements);
  }

  enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]) {
    return enqueueForOrchestrator(this.ctx, elements);
  }

  enqueueForWorker(items: readonly WorkItem[]) {
    return enqueueForWorker(this.ctx, items);
  }

  enqueueStartIfAbsent(item: WorkItemOf<'StartOrchestration'>) {
    return enqueueStartIfAbsent(this.ctx, item);
  }

  loadHistory(lock: OrchestrationLock) {
    return loadHistory(this.ctx, lock);
  }

  within(tx: unknown): TransactionScope {
    return this.scopeOf(tx);
  }

  protected scopeOf(tx: unknown, options?: ScopeOptions): TransactionScope {
    return transactionScope(this.ctx, tx, options);
  }

  activityTransactions(): ActivityTransactions {
    return this.transactions;
  }

  schedules(): ScheduleStore {
    return this.scheduleStore;
  }

  startQueues(): StartQueueStore | undefined {
    return this.startQueueStore;
  }

  due() {
    return due(this.ctx);
  }

  onWakeUp(listener: (queue: QueueName, isFromElsewhere?: boolean) => unknown): () => void {
    return this.parts.notifications.onWakeUp(listener);
  }

  onEnded(listener: EndListener, { states, elsewhere }: EndListenerOptions = {}): () => void {
    const stop = this.endings.listen(listener, states);
    const stopElsewhere = elsewhere && this.parts.notifications.ends.onEnded(elsewhere);
    return () => {
      stop();
      stopElsewhere?.();
    };
  }

  onDeleted(listener: () => void): () => void {
    const entry = () => listener();
    this.deletionListeners.add(entry);
    return () => void this.deletionListeners.delete(entry);
  }

  /** An administration whose deletions are told to {@link onDeleted}. */
  protected announcing(admin: ProviderAdmin): ProviderAdmin {
    return announcingAdmin(admin, () => {
      for (const listener of this.deletionListeners) listener();
    });
  }

  wakeUps() {
    const { origin, notifyTriggers } = this.parts.status;
    return {
      listening: this.parts.notifications.isListening,
      sharedWithNative: origin === 'native' || origin === 'handedOver',
      notifyTriggers,
    };
  }

  renewSessionLock(params: RenewSessionLock) {
    return renewSessionLock(this.ctx, params);
  }

  /** The idle time says nothing: a session that is expired and unused goes (provider.md 3.1.15). */
  cleanupOrphanedSessions() {
    return cleanupOrphanedSessions(this.ctx);
  }

  /** Needs a PostgreSQL server, and a pool or URL to open one more connection like. @throws UnsupportedError */
  startLockThread(options: LockThreadOptions): Promise<LockThread> {
    return startLockThread(this.ctx, options);
  }

  read(instance: string) {
    return read(this.ctx, instance);
  }

  readWithExecution(instance: string, executionId: number) {
    return readWithExecution(this.ctx, instance, executionId);
  }

  appendWithExecution(instance: string, executionId: number, events: readonly HistoryEvent[]) {
    return appendWithExecution(this.ctx, instance, executionId, events);
  }

  getCustomStatus(instance: string, lastSeenVersion: number) {
    return getCustomStatus(this.ctx, instance, lastSeenVersion);
  }

  instanceStates(params: InstanceStates) {
    this.parts.notifications.ends.stillWaiting();
    return instanceStates(this.ctx, params);
  }

  getKvValues(keys: readonly KvKey[]) {
    return getKvValues(this.ctx, keys);
  }

  getKvValue(instance: string, key: string) {
    return getKvValue(this.ctx, instance, key);
  }

  getKvAllValues(instance: string) {
    return getKvAllValues(this.ctx, instance);
  }

  getInstanceStats(instance: string) {
    return getInstanceStats(this.ctx, instance);
  }

  asManagement(): ProviderAdmin {
    return this.admin;
  }

  /**
   * Migrates the schema of this provider, where `connect` was told not to, or adds to it.
   * What it changes takes effect for {@link wakeUps} at the next connection.
   * @throws SchemaError
   */
  migrate(options: Omit<MigrateOptions, 'schema'> = {}): Promise<MigrationReport> {
    return migrateSchema(this.ctx.driver, { ...options, schema: this.ctx.schema });
  }

  /** Sends what is held back, stops listening, and closes what the provider opened. May be called again. */
  close(): Promise<void> {
    this.closing ??= this.parts.close();
    return this.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** @internal The parts of a provider on a PGlite of its own. */
export async function openEmbedded({ directory, ...options }: EmbeddedOptions): Promise<ProviderParts> {
  const { db, release } = await embeddedDatabase(directory);
  try {
    const parts = await openProvider(db, { ownsClient: true, ...options });
    return { ...parts, close: () => parts.close().finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

/** @internal The parts of a provider on a pool of its own. */
export async function openByUrl(url: string, options: ConnectOptions): Promise<ProviderParts> {
  const problem = problemOfPostgresUrl(url);
  if (problem !== undefined) throw new TypeError(`connect: the URL ${problem}; expected ${POSTGRES_URL}`);
  return withRetriedConnect(options.connectTimeoutMs, async () => {
    const pool = await connectToPostgres(url, options);
    return openProvider({ $client: pool }, { ownsClient: true, ...options });
  });
}

import type { HistoryEvent } from '../../wire/event.js';
import type { WorkItem } from '../../wire/work-item.js';
import { DrizzleProvider, type EmbeddedOptions, openByUrl, openEmbedded } from '../drizzle/drizzle-provider.js';
import type { DrizzleDatabase } from '../drizzle/drivers/index.js';
import { migrateSchema } from '../drizzle/migrate/index.js';
import { openProvider, type ProviderParts } from '../drizzle/open-provider.js';
import type { WorkAck } from '../drizzle/operations/ack-work-statement.js';
import type { ScopeOptions } from '../drizzle/operations/scope/transaction-scope.js';
import type { RenewSessionLock } from '../drizzle/operations/sessions.js';
import type { ConnectOptions, DrizzleProviderOptions } from '../drizzle/options.js';
import type { ProviderAdmin } from '../admin.js';
import type {
  Abandon,
  AckOrchestrationItem,
  EnqueueForOrchestrator,
  FetchOrchestrationItems,
  FetchWorkItems,
  OrchestrationLock,
  Renewal,
  TransactionScope,
  WorkItemLock,
} from '../provider.js';
import { ackOrchestrationItems } from './ack-orchestration-items.js';
import { enqueueForOrchestrator, enqueueForWorker } from './enqueue.js';
import { fetchOrchestrationItems } from './fetch-orchestration-items.js';
import { fetchWorkItems } from './fetch-work-items.js';
import { abandonOrchestrationItems, renewOrchestrationItemLocks } from './orchestration-locks.js';
import {
  appendWithExecution,
  cleanupOrphanedSessions,
  getCustomStatus,
  getInstanceStats,
  getKvAllValues,
  getKvValue,
  read,
  readWithExecution,
  renewSessionLock,
} from './reads.js';
import { withStoredFunctions } from './require-functions.js';
import { transactionScope } from './scope.js';
import { StoredFunctionAdmin } from './stored-function-admin.js';
import { abandonWorkItems, ackWorkItems, renewWorkItemLocks } from './work-locks.js';

/**
 * The store over stored functions with native's names and signatures (provider.md
 * 3.4.11): native's own on a schema that native migrated, ours on a schema of ours after
 * `migrate(db, { storedFunctions: true })`. Takes `DrizzleProvider`'s place by one line.
 *
 * Batches are loops of single calls and histories are always full, so it is slower in
 * batches. What no function does is the same query as in `DrizzleProvider`.
 */
export class StoredFunctionProvider extends DrizzleProvider {
  /** Native's function stores work for whoever fetches it. */
  override readonly locksOwnWork = false;
  /** Native's function acknowledges turns that were fetched. */
  override readonly takesDirectTurns = false;
  private readonly functionAdmin: ProviderAdmin;

  protected constructor(parts: ProviderParts) {
    super(parts);
    this.functionAdmin = this.announcing(new StoredFunctionAdmin(parts.ctx));
  }

  /** @throws SchemaError when the functions are missing; and as `DrizzleProvider.fromDrizzle` */
  static override async fromDrizzle(
    db: DrizzleDatabase,
    options: DrizzleProviderOptions = {},
  ): Promise<StoredFunctionProvider> {
    return new this(await withStoredFunctions(await openProvider(db, options)));
  }

  /** @throws as {@link fromDrizzle} */
  static override async fromPool(pool: object, options: DrizzleProviderOptions = {}): Promise<StoredFunctionProvider> {
    return new this(await withStoredFunctions(await openProvider({ $client: pool }, options)));
  }

  /** @throws as {@link fromDrizzle} */
  static override async connect(url: string, options: ConnectOptions = {}): Promise<StoredFunctionProvider> {
    return new this(await withStoredFunctions(await openByUrl(url, options)));
  }

  /**
   * On a PGlite inside this process. It belongs to nobody else, so the functions are
   * installed, unless `migrate` is `false`. @throws as {@link fromDrizzle}
   */
  static override async embedded(options: EmbeddedOptions = {}): Promise<StoredFunctionProvider> {
    const parts = await openEmbedded(options);
    if (!(options.migrate ?? true)) return new this(await withStoredFunctions(parts));
    const { status } = await migrateSchema(parts.ctx.driver, { schema: options.schema, storedFunctions: true });
    return new this(await withStoredFunctions({ ...parts, status }));
  }

  override name(): string {
    return 'duroxide-drizzle (stored functions)';
  }

  override fetchOrchestrationItems(params: FetchOrchestrationItems) {
    return fetchOrchestrationItems(this.ctx, params);
  }

  protected override ackTurns(turns: readonly AckOrchestrationItem[]) {
    return ackOrchestrationItems(this.ctx, turns);
  }

  override abandonOrchestrationItems(elements: readonly (OrchestrationLock & Abandon)[]) {
    return abandonOrchestrationItems(this.ctx, elements);
  }

  override renewOrchestrationItemLocks(elements: readonly (OrchestrationLock & Renewal)[]) {
    return renewOrchestrationItemLocks(this.ctx, elements);
  }

  override fetchWorkItems(params: FetchWorkItems) {
    return fetchWorkItems(this.ctx, params);
  }

  override ackWorkItems(elements: readonly WorkAck[]) {
    return ackWorkItems(this.ctx, elements);
  }

  override abandonWorkItems(elements: readonly (WorkItemLock & Abandon)[]) {
    return abandonWorkItems(this.ctx, elements);
  }

  override renewWorkItemLocks(elements: readonly (WorkItemLock & Renewal)[]) {
    return renewWorkItemLocks(this.ctx, elements);
  }

  override enqueueForOrchestrator(elements: readonly EnqueueForOrchestrator[]) {
    return enqueueForOrchestrator(this.ctx, elements);
  }

  override enqueueForWorker(items: readonly WorkItem[]) {
    return enqueueForWorker(this.ctx, items);
  }

  protected override scopeOf(tx: unknown, options?: ScopeOptions): TransactionScope {
    return transactionScope(this.ctx, tx, options);
  }

  override renewSessionLock(params: RenewSessionLock) {
    return renewSessionLock(this.ctx, params);
  }

  override cleanupOrphanedSessions() {
    return cleanupOrphanedSessions(this.ctx);
  }

  override read(instance: string) {
    return read(this.ctx, instance);
  }

  override readWithExecution(instance: string, executionId: number) {
    return readWithExecution(this.ctx, instance, executionId);
  }

  override appendWithExecution(instance: string, executionId: number, events: readonly HistoryEvent[]) {
    return appendWithExecution(this.ctx, instance, executionId, events);
  }

  override getCustomStatus(instance: string, lastSeenVersion: number) {
    return getCustomStatus(this.ctx, instance, lastSeenVersion);
  }

  override getKvValue(instance: string, key: string) {
    return getKvValue(this.ctx, instance, key);
  }

  override getKvAllValues(instance: string) {
    return getKvAllValues(this.ctx, instance);
  }

  override getInstanceStats(instance: string) {
    return getInstanceStats(this.ctx, instance);
  }

  override asManagement(): ProviderAdmin {
    return this.functionAdmin;
  }
}

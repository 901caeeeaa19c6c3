/** The public API of `duroxide-drizzle`. */
export { type Clock, FakeClock, type HostClock, SystemClock, systemHostClock } from './base/clock.js';
export { consoleLogger, type LogFields, type Logger, silentLogger } from './base/logger.js';
export { type PinoLike, pinoLogger } from './base/pino-logger.js';
export type {
  DeleteResult,
  ExecutionInfo as ProviderExecutionInfo,
  InstanceFilter as ProviderInstanceFilter,
  InstanceInfo as ProviderInstanceInfo,
  InstanceTree as ProviderInstanceTree,
  ProviderAdmin,
  PruneOptions as ProviderPruneOptions,
  PruneResult,
  QueueDepths,
  ResetResult,
  SystemMetrics,
} from './provider/admin.js';
export {
  type InstancePage,
  type InstancePageQuery,
  type InstanceSummary,
  MAX_PAGE_LIMIT,
  PREVIEW_LENGTH,
  type StatusCount,
} from './provider/instance-pages.js';
export type { Slots, WorkerHeartbeat, WorkerInfo, WorkerState } from './provider/workers.js';
export type {
  Abandon,
  AckOrchestrationItem,
  ActivityRef,
  Due,
  EnqueueForOrchestrator,
  ExecutionMetadata,
  FetchedOrchestrationItems,
  FetchOrchestrationItems,
  FetchWorkItems,
  HeldInstance,
  InstanceState,
  InstanceStats,
  ItemHistory,
  KvEntry,
  KvSnapshot,
  LoadedHistory,
  LockedOrchestrationItem,
  LockedWorkItem,
  Ms,
  OrchestrationLock,
  Provider,
  QueueName,
  Renewal,
  Result,
  SessionConfig,
  TagFilter as ProviderTagFilter,
  TransactionScope,
  VersionFilter,
  WorkItemLock,
} from './provider/provider.js';
export { DrizzleProvider, type EmbeddedOptions } from './provider/drizzle/drizzle-provider.js';
export type { DrizzleDatabase } from './provider/drizzle/drivers/index.js';
export type { PostgresEntraOptions, TokenCredential } from './provider/drizzle/entra.js';
export { ConnectionFailedError, PostgresProvider } from './provider/drizzle/postgres-provider.js';
export { SqliteProvider } from './provider/drizzle/sqlite-provider.js';
export {
  type HandOverOptions,
  type MigrateOptions,
  type MigrationReport,
  SchemaError,
  type SchemaErrorKind,
  type SchemaOrigin,
  type SchemaStatus,
  type StoredFunctionState,
} from './provider/drizzle/migrate/index.js';
export {
  type DatabaseOptions,
  handOverToNative,
  inspectSchema,
  migrate,
} from './provider/drizzle/migrate/on-database.js';
export type {
  ActivityTransaction,
  ActivityTransactionOutcome,
  ActivityTransactions,
  IsolationLevel,
} from './provider/activity-transactions.js';
export { StoredFunctionProvider } from './provider/stored-function/index.js';
export {
  type CheckedCounts,
  checkInvariants,
  type InvariantName,
  type InvariantOptions,
  type InvariantReport,
  type InvariantViolation,
  type QuarantinedRow,
} from './doctor/index.js';
export type { ConnectOptions, DrizzleProviderOptions } from './provider/drizzle/options.js';
export { CodecError, type CodecContext, type PayloadCodec } from './provider/codec/payload-codec.js';
export { type CodecOptions, withCodec } from './provider/codec/codec-provider.js';
export type { Telemetry } from './provider/telemetry.js';
export { showStored } from './wire/encoded-payload.js';
export {
  ProviderError,
  type ProviderErrorFacts,
  TransactionControlError,
  TransactionEndedError,
  UnsupportedError,
} from './provider/provider-error.js';
// The operations of a provider for one element, which throw where the batch forms answer.
export {
  abandonOrchestrationItem,
  abandonWorkItem,
  ackOrchestrationItem,
  ackWorkItem,
  enqueueForOrchestrator,
  enqueueForWorker,
  fetchOrchestrationItem,
  fetchWorkItem,
  renewOrchestrationItemLock,
  renewWorkItemLock,
} from './provider/single-forms.js';
export type { ApplicationErrorKind, ErrorDetails, PoisonMessageType } from './wire/error-details.js';
export type { SemVer } from './wire/compat-version.js';
export type { EventBody, EventEnvelope, EventKind, EventOf, HistoryEvent } from './wire/event.js';
export type { WorkItem, WorkItemKind, WorkItemOf } from './wire/work-item.js';

export { Client, type ClientOptions } from './client/client.js';
export type { ScheduleChanges, ScheduleInfo, ScheduleOptions, Schedules } from './client/schedules.js';
export { ScheduleError, type ScheduleTiming } from './schedule/definition.js';
export type {
  CatchUp,
  ChangeSchedule,
  FiredSchedules,
  Overlap,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleFacts,
  ScheduleStore,
  StoredSchedule,
} from './provider/schedules.js';
export type { DeleteStartQueueOptions, StartQueueInfo, StartQueueOptions, StartQueues } from './client/start-queues.js';
export { StartQueueError, type StartQueueLimits } from './client/start-queue-limits.js';
export type {
  Admission,
  BoundedCount,
  QueuedStart,
  QueueStartOutcome,
  StartKeyFigures,
  StartLimits,
  StartQueueChange,
  StartQueueFigures,
  StartQueueRemoval,
  StartQueueStore,
  StartRate,
  StoredStartQueue,
  WaitingStarts,
} from './provider/start-queues.js';
export type { EventDefinition, OrchestrationReference } from './client/definition.js';
export {
  ActivityError,
  DurableTimeoutError,
  OrchestrationCancelledError,
  OrchestrationFailedError,
  SubOrchestrationCancelledError,
  SubOrchestrationError,
} from './client/durable-errors.js';
export { RemoteError } from './client/remote-error.js';
export {
  ArgumentError,
  InstanceExistsError,
  InstanceNotFoundError,
  InstanceRunningError,
  InvalidInputError,
  SubOrchestrationDeleteError,
  WaitTimeoutError,
} from './client/errors.js';
export type { ExecutionHistoryEvent } from './client/history-view.js';
export type { ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, PruneOptions } from './client/management.js';
export type { HandleEvents, HandleStatus, OrchestrationHandle, WaitOptions } from './client/orchestration-handle.js';
export type { StartOptions } from './client/start-options.js';
export type { OrchestrationStatus } from './client/status.js';
export type { TransactionClient } from './client/transaction-client.js';
export { ActivityContext } from './runtime/activity-context.js';
export { TransactionalActivityContext } from './runtime/transactional-activity-context.js';
export type { ActivityFunction } from './runtime/activity-handler.js';
export { ActivityCancelledError, type CancelReason } from './runtime/activity-run.js';
export { ForeignAwaitError } from './runtime/async/foreign-await-error.js';
export { ConfigurationError } from './runtime/configuration-error.js';
export type { GeneratorOrchestration } from './runtime/generator/generator-driver.js';
export { OrchestrationContext } from './runtime/generator/orchestration-context.js';
export type { JoinResult, RaceResult, RetryPolicy, ScheduledTask } from './runtime/generator/scheduled-task.js';
export type { MetricsSnapshot } from './runtime/metrics.js';
export type { Registrable } from './runtime/registrable.js';
export type { LockRenewal, LogFormat, RuntimeOptions } from './runtime/options.js';
export { Runtime } from './runtime/runtime.js';
export type { WorkerTagFilter, WorkerTagFilter as TagFilter } from './runtime/tag-filter-option.js';
export { initTracing, type TracingOptions } from './runtime/tracing/tracing.js';
export {
  MAX_FILTER_TAGS as MAX_WORKER_TAGS,
  MAX_KV_KEYS,
  MAX_KV_VALUE_BYTES,
  MAX_TAG_BYTES as MAX_TAG_NAME_BYTES,
} from './wire/limits.js';

// Typed definitions. What they share a name with in the drop-in API is called `Typed…` or `Call…` here.
export {
  type Activity,
  activity,
  type ActivityDeclaration,
  type ActivityHandler,
  type ActivityOptions,
  type AttemptOptions,
  type CallOptions,
  declareActivity,
  declareOrchestration,
  event,
  orchestration,
  type Orchestration,
  type OrchestrationDeclaration,
  type OrchestrationHandler,
  type OrchestrationOptions,
  type OrchestrationSteps,
} from './typed/definitions.js';
export type {
  AnyTransaction,
  TransactionalActivity,
  TransactionalHandler,
  TransactionalOptions,
  TransactionOf,
  TransactionOptions,
} from './typed/transactional.js';
export type { DurableCall } from './typed/durable-call.js';
export type { DurableKv, DurableStatus } from './typed/instance-state.js';
export type { Selected, Tasks } from './typed/combinators.js';
export type { ChildOptions, OrchestrationContext as TypedOrchestrationContext } from './typed/orchestration-context.js';
export type { ReplaySafeLog } from './typed/replay-safe-log.js';
export type { Backoff, RetryPolicy as CallRetryPolicy } from './typed/retry-policy.js';
export { type SchemaPlace, SchemaValidationError, type StandardSchema } from './wire/standard-schema.js';
export type { Jsonified } from './wire/jsonified.js';

// The names under which duroxide-node's typings have the same things.
export type {
  DeleteResult as JsDeleteInstanceResult,
  PruneResult as JsPruneResult,
  QueueDepths as JsQueueDepths,
  SystemMetrics as JsSystemMetrics,
} from './provider/admin.js';
export type { InstanceStats as JsSystemStats, InstanceStats as SystemStats } from './provider/provider.js';
export type { ExecutionHistoryEvent as JsEvent } from './client/history-view.js';
export type {
  ExecutionInfo as JsExecutionInfo,
  InstanceFilter as JsInstanceFilter,
  InstanceInfo as JsInstanceInfo,
  InstanceTree as JsInstanceTree,
  PruneOptions as JsPruneOptions,
} from './client/management.js';
export type { OrchestrationStatus as JsOrchestrationStatus } from './client/status.js';
export type { MetricsSnapshot as JsMetricsSnapshot } from './runtime/metrics.js';
export type { RuntimeOptions as JsRuntimeOptions } from './runtime/options.js';
export type { TracingOptions as JsTracingOptions } from './runtime/tracing/tracing.js';

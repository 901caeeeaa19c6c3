/** The public API of `duroxide-drizzle`. */
export { type Clock, FakeClock, type HostClock, SystemClock, systemHostClock } from './base/clock.js';
export { consoleLogger, type LogFields, type Logger, silentLogger } from './base/logger.js';
export type {
  DeleteResult,
  ExecutionInfo,
  InstanceFilter,
  InstanceInfo,
  InstanceTree,
  ProviderAdmin,
  PruneOptions,
  PruneResult,
  QueueDepths,
  SystemMetrics,
} from './provider/admin.js';
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
  TagFilter,
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
  type MigrateOptions,
  type MigrationReport,
  SchemaError,
  type SchemaErrorKind,
  type SchemaStatus,
} from './provider/drizzle/migrate/index.js';
export type { ConnectOptions, DrizzleProviderOptions } from './provider/drizzle/options.js';
export {
  ProviderError,
  type ProviderErrorFacts,
  TransactionEndedError,
  UnsupportedError,
} from './provider/provider-error.js';
export type { ApplicationErrorKind, ErrorDetails, PoisonMessageType } from './wire/error-details.js';
export type { SemVer } from './wire/compat-version.js';
export type { EventBody, EventEnvelope, EventKind, EventOf, HistoryEvent } from './wire/event.js';
export type { WorkItem, WorkItemKind, WorkItemOf } from './wire/work-item.js';

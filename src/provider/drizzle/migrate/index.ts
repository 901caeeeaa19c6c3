export { type Additions } from './plan.js';
export { cleanupSchema } from './cleanup-schema.js';
export { migrationLockKey, takeMigrationLock } from './migration-lock.js';
export { type MigrateOptions, type MigrationReport, migrateSchema } from './migrate.js';
export { SchemaError, type SchemaErrorKind } from './schema-error.js';
export {
  type InspectOptions,
  type SchemaOrigin,
  type SchemaStatus,
  inspectSchema,
  requireMigratedSchema,
} from './schema-status.js';

export { cleanupSchema } from './cleanup-schema.js';
export { handOverToNative, type HandOverOptions } from './hand-over.js';
export { migrationLockKey } from './migration-lock.js';
export { type MigrateOptions, type MigrationReport, migrateSchema } from './migrate.js';
export { type SchemaOrigin } from './judge-schema.js';
export { SchemaError, type SchemaErrorKind } from './schema-error.js';
export {
  type SchemaStatus,
  type StoredFunctionState,
  inspectSchema,
  requireMigratedSchema,
} from './schema-status.js';

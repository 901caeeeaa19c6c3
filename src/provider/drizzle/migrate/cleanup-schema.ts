import { builtInMigrations } from '../../../schema/migrations.generated.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import type { Executor } from '../executor.js';
import { ownTableStatements } from './additions.js';
import { baseTableNames } from './expected-objects.js';
import { takeMigrationLock } from './migration-lock.js';
import { NATIVE_BOOKKEEPING, OWN_BOOKKEEPING } from './schema-status.js';

/**
 * Drops a schema with everything in it; in `public`, which is shared with the
 * application, only what duroxide made (provider.md 1.7). To be run in a transaction:
 * it waits for a migration that is under way.
 */
export async function cleanupSchema(tx: Executor, schema: string): Promise<void> {
  const quoted = quoteSchemaName(schema);
  await takeMigrationLock(tx, schema);
  if (schema !== 'public') return tx.script(`drop schema if exists ${quoted} cascade`);
  const tables = [...baseTableNames, NATIVE_BOOKKEEPING, OWN_BOOKKEEPING, ...ownTableNames];
  await tx.script(`drop table if exists ${tables.map((name) => `${quoted}."${name}"`).join(', ')} cascade`);
  await tx.script(`drop function if exists ${quoted}.ddz_notify() cascade`);
}

/** Tables of ours beside native's, as our migrations make them. */
const ownTableNames = builtInMigrations
  .flatMap(ownTableStatements)
  .map((statement) => /^CREATE TABLE "(ddz_\w+)"/.exec(statement)?.[1])
  .filter((name) => name !== undefined);

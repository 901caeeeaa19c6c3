import { argumentTypes, storedFunctions } from '../../../schema/functions/index.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import { allTableNames } from '../../../schema/table-names.js';
import type { Executor } from '../executor.js';
import { takeMigrationLock } from './migration-lock.js';

/**
 * Drops a schema with everything in it; in `public`, which is shared with the
 * application, only what duroxide made (provider.md 1.7). To be run in a transaction:
 * it waits for a migration that is under way.
 */
export async function cleanupSchema(tx: Executor, schema: string): Promise<void> {
  const quoted = quoteSchemaName(schema);
  await takeMigrationLock(tx, schema);
  if (schema !== 'public') return tx.script(`drop schema if exists ${quoted} cascade`);
  await tx.script(`drop table if exists ${allTableNames.map((name) => `${quoted}."${name}"`).join(', ')} cascade`);
  await tx.script(`drop function if exists ${quoted}.ddz_notify() cascade`);
  const functions = [...storedFunctions(schema).map((f) => `${f.name}(${argumentTypes(f)})`), ...DEAD_NATIVE_FUNCTIONS];
  await tx.script(`drop function if exists ${functions.map((signature) => `${quoted}.${signature}`).join(', ')}`);
}

/** Native's functions that nobody calls (P:T-33). */
const DEAD_NATIVE_FUNCTIONS = [
  'ack_orchestration(text, jsonb, bigint)',
  'enqueue_orchestration_work(text, text, bigint)',
  'enqueue_completion(text, text, bigint)',
  'enqueue_message(text, text, bigint, bigint)',
];

import { sql } from 'drizzle-orm';
import { argumentTypes, selectOwnFunctions, storedFunctions } from '../../../schema/functions/index.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import { allTableNames } from '../../../schema/table-names.js';
import type { Executor } from '../executor.js';
import { compile, textCell } from '../statement.js';
import { takeMigrationLock } from './migration-lock.js';

/**
 * Drops a schema with everything in it; in `public`, which is shared with the
 * application, only what duroxide made (provider.md 1.7): of functions with its names and
 * arguments those whose bodies work on its tables. To be run in a transaction:
 * it waits for a migration that is under way.
 */
export async function cleanupSchema(tx: Executor, schema: string): Promise<void> {
  const quoted = quoteSchemaName(schema);
  await takeMigrationLock(tx, schema);
  if (schema !== 'public') return tx.script(`drop schema if exists ${quoted} cascade`);
  const signatures = [...storedFunctions(schema).map((f) => `${f.name}(${argumentTypes(f)})`), ...DEAD_NATIVE_FUNCTIONS];
  const own = await tx.run(compile(sql.raw(selectOwnFunctions(schema, signatures)), ([name]) => textCell(name)));
  await tx.script(`drop table if exists ${allTableNames.map((name) => `${quoted}."${name}"`).join(', ')} cascade`);
  await tx.script(`drop function if exists ${quoted}.ddz_notify() cascade`);
  if (own.length > 0) await tx.script(`drop function ${own.join(', ')}`);
}

/** Native's functions that nobody calls (P:T-33). */
const DEAD_NATIVE_FUNCTIONS = [
  'ack_orchestration(text, jsonb, bigint)',
  'enqueue_orchestration_work(text, text, bigint)',
  'enqueue_completion(text, text, bigint)',
  'enqueue_message(text, text, bigint, bigint)',
];

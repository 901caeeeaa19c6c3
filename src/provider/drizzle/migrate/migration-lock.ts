import { sql } from 'drizzle-orm';
import { fnv1a64 } from '../../../base/fnv1a.js';
import type { Executor } from '../executor.js';
import { compile, noRow } from '../statement.js';

/** Native's key for migrations of `schema` (provider.md 1.6), signed as PostgreSQL wants it. */
export function migrationLockKey(schema: string): bigint {
  return BigInt.asIntN(64, fnv1a64(`duroxide_pg:migrations:${schema}`));
}

const lock = compile(sql`select pg_advisory_xact_lock(${sql.placeholder('key')}::bigint)`, noRow);

/**
 * Waits for the migration lock and holds it until the transaction ends. It excludes
 * native's session-level lock on the same key, and cannot leak behind a pooler.
 */
export async function takeMigrationLock(tx: Executor, schema: string): Promise<void> {
  await tx.run(lock, { key: migrationLockKey(schema).toString() });
}

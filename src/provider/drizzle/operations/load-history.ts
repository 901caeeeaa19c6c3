import { sql } from 'drizzle-orm';
import type { LoadedHistory, OrchestrationLock } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { type Statement, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { loadStatement, loadValues, storedInstances } from './load-instances.js';
import { decodeHistory } from './orchestration-item.js';
import { withInstances } from './orchestration-locks.js';

const OPERATION = 'load_history';

/**
 * The full history and snapshot of an instance that is locked, for a caller whose tail
 * did not fit.
 * @throws ProviderError permanent when the lock is gone: what is stored may be another life by now
 */
export async function loadHistory(ctx: ProviderContext, lock: OrchestrationLock): Promise<LoadedHistory> {
  const [{ instance, lockToken } = lock] = await withInstances(ctx, OPERATION, [lock]);
  const params = { instances: [instance], range: 'any' as const, held: new Map() };
  const { isLocked, rows } = await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
    const locks = tx.run(liveLock(ctx), { instance, lockToken, nowMs });
    const rows = await tx.runLast(loadStatement(ctx, params), loadValues(params));
    return { isLocked: (await locks).length > 0, rows };
  }, { repeatable: true });
  if (!isLocked) throw ProviderError.permanent(OPERATION, errorTexts.invalidLockToken);
  const stored = storedInstances([instance], rows).get(instance);
  const { events, historyError } = decodeHistory(stored?.events ?? []);
  return { events, kvSnapshot: stored?.kv ?? new Map(), ...(historyError === undefined ? {} : { historyError }) };
}

function liveLock(ctx: ProviderContext): Statement<string> {
  const value = (name: string) => sql.placeholder(name);
  return ctx.statement(
    'a live lock',
    () => sql`select lock_token from ${ctx.tables.instanceLocks}
      where instance_id = ${value('instance')} and lock_token = ${value('lockToken')} and locked_until > ${value('nowMs')}`,
    ([lockToken]) => textCell(lockToken),
  );
}

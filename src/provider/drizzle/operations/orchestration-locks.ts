import { sql } from 'drizzle-orm';
import type { OrchestrationLock } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { noRow, type Statement, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

/** A pair as it stands in `instance_locks`. */
export interface LockRow {
  readonly instance: string;
  readonly lockToken: string;
}

const value = (name: string) => sql.placeholder(name);

/**
 * Locks the lock rows of instances in the order of their ids, the one order in which
 * everybody locks them (P:T-7), and answers with those that carry one of the tokens.
 * Placeholders `instances` and `lockTokens`; with `unexpired` also `nowMs`.
 */
export function lockRows(ctx: ProviderContext, { unexpired }: { readonly unexpired: boolean }): Statement<LockRow> {
  return ctx.statement(
    `lock rows${unexpired ? ' that are live' : ''}`,
    () => sql`select instance_id, lock_token from ${ctx.tables.instanceLocks}
      where instance_id = any(${value('instances')}::text[]) and lock_token = any(${value('lockTokens')}::text[])
        ${unexpired ? sql`and locked_until > ${value('nowMs')}` : sql``}
      order by instance_id collate "C" for update`,
    ([instance, lockToken]) => ({ instance: textCell(instance), lockToken: textCell(lockToken) }),
  );
}

/** What the server answers to {@link requireLocks} when a lock is missing: division by zero. */
export const LOCK_MISSING = '22012';

/**
 * As {@link lockRows}, but fails with {@link LOCK_MISSING} unless every pair is there
 * and live, and so keeps everything behind it in the transaction from happening.
 * Placeholders `instances`, `lockTokens`, `nowMs` and `expected`, the number of pairs.
 */
export function requireLocks(ctx: ProviderContext): Statement<undefined> {
  return ctx.statement(
    'require locks',
    () => sql`select 1 / (case when count(*) = ${value('expected')} then 1 else 0 end)
      from (
        select l.instance_id from unnest(${value('instances')}::text[], ${value('lockTokens')}::text[]) as u(instance_id, lock_token)
        join ${ctx.tables.instanceLocks} l on l.instance_id = u.instance_id and l.lock_token = u.lock_token
        where l.locked_until > ${value('nowMs')}
        order by l.instance_id collate "C" for update of l
      ) held`,
    noRow,
  );
}

/** The values of {@link lockRows}. */
export function lockValues(locks: readonly OrchestrationLock[]): { instances: string[]; lockTokens: string[] } {
  return { instances: locks.map(({ instance }) => instance), lockTokens: locks.map(({ lockToken }) => lockToken) };
}

/** The members of `locks` whose pair is among the rows. */
export function heldAmong<T extends OrchestrationLock>(locks: readonly T[], rows: readonly LockRow[]): ReadonlySet<T> {
  const tokenOf = new Map(rows.map(({ instance, lockToken }) => [instance, lockToken]));
  return new Set(locks.filter(({ instance, lockToken }) => tokenOf.get(instance) === lockToken));
}

/**
 * Fills in the instances of elements that name none: those of a single form whose token
 * is not of our making. A scan of `instance_locks`, which has no index on the token. An
 * element whose token is unknown stays without an instance, and holds nothing.
 */
export async function withInstances<T extends OrchestrationLock>(
  ctx: ProviderContext,
  operation: string,
  elements: readonly T[],
): Promise<readonly T[]> {
  const nameless = elements.filter(({ instance }) => instance === '');
  if (nameless.length === 0) return elements;
  const find = ctx.statement(
    'instances of tokens',
    () => sql`select instance_id, lock_token from ${ctx.tables.instanceLocks}
      where lock_token = any(${value('lockTokens')}::text[])`,
    ([instance, lockToken]) => ({ instance: textCell(instance), lockToken: textCell(lockToken) }),
  );
  const rows = await readStatement(ctx, operation, find, { lockTokens: nameless.map(({ lockToken }) => lockToken) });
  const instanceOf = new Map(rows.map(({ instance, lockToken }) => [lockToken, instance]));
  return elements.map((element) =>
    element.instance === '' ? { ...element, instance: instanceOf.get(element.lockToken) ?? '' } : element,
  );
}

import { sql } from 'drizzle-orm';
import type { Ms, Renewal, Result, WorkItemLock } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { type Statement, textCell } from '../statement.js';
import { runStatement } from '../transaction.js';
import { done, failed, settleBatch } from './settle-batch.js';

const OPERATION = 'renew_work_item_lock';

type Element = WorkItemLock & Renewal;

/**
 * Lets locks that are still held end `extendMs` from now, to the millisecond (P:T-8).
 * A failure is how a running activity learns that it was cancelled.
 */
export async function renewWorkItemLocks(ctx: ProviderContext, given: readonly Element[]): Promise<Result[]> {
  return settleBatch<Element, void>({
    elements: given,
    run: async (elements) => {
      const renewed = new Set<string>();
      for (const [extendMs, lockTokens] of tokensByExtension(elements)) {
        const values = (nowMs: Ms) => ({ lockTokens, nowMs, untilMs: nowMs + extendMs });
        for (const token of await runStatement(ctx, OPERATION, extend(ctx), values, { repeatable: true })) renewed.add(token);
      }
      return elements.map(({ lockToken }) => (renewed.has(lockToken) ? done() : lockLost()));
    },
  });
}

/** Usually one: a process extends all its locks by the same time. */
function tokensByExtension(elements: readonly Element[]): Map<Ms, string[]> {
  const groups = new Map<Ms, string[]>();
  for (const { extendMs, lockToken } of elements) {
    const group = groups.get(extendMs);
    if (group) group.push(lockToken);
    else groups.set(extendMs, [lockToken]);
  }
  return groups;
}

function extend(ctx: ProviderContext): Statement<string> {
  const value = (name: string) => sql.placeholder(name);
  const { workerQueue, sessions } = ctx.tables;
  return ctx.statement(
    'renew work',
    () => sql`with renewed as (
        update ${workerQueue} set locked_until = ${value('untilMs')}
        where lock_token = any(${value('lockTokens')}::text[]) and locked_until > ${value('nowMs')}
        returning lock_token, session_id
      ), touched as (
        update ${sessions} set last_activity_at = ${value('nowMs')}
        where session_id in (select session_id from renewed where session_id is not null) and locked_until > ${value('nowMs')}
        returning session_id
      )
      select lock_token from renewed`,
    ([lockToken]) => textCell(lockToken),
  );
}

function lockLost(): Result {
  return failed(ProviderError.permanent(OPERATION, errorTexts.workItemLockLost));
}

import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import { noRow, type Statement } from '../statement.js';
import { inTransaction } from '../transaction.js';
import type { ClaimedWork } from './claim-work-items.js';
import type { UnreadableMessage } from './decode-messages.js';
import { moment, SET_ASIDE_UNTIL } from './moment.js';
import { runTogether, type Step } from './run-together.js';
import { UNREADABLE_DELAY_MS } from './set-aside-messages.js';

/**
 * Deals with claimed worker items that cannot be read: given back for a while with their
 * attempt counted, and set aside for good after the last attempt.
 * @throws ProviderError
 */
export async function setAsideWorkItems(
  ctx: ProviderContext,
  operation: string,
  unreadable: readonly (UnreadableMessage & Pick<ClaimedWork, 'lockToken'>)[],
): Promise<void> {
  const isSpent = ({ attemptCount }: UnreadableMessage) => attemptCount >= ctx.quarantineAttempts;
  for (const item of unreadable) {
    const { rowId, attemptCount, reason } = item;
    const outcome = isSpent(item) ? 'it is set aside' : 'it is tried again';
    ctx.logger.error({ rowId, attemptCount, reason }, `a worker item cannot be read: ${outcome}`);
  }
  const spent = unreadable.filter(isSpent);
  const others = unreadable.filter((item) => !isSpent(item));
  await inTransaction(ctx, operation, async (tx, nowMs) => {
    const steps: Step[] = [];
    for (const [items, visibleAt] of [
      [spent, SET_ASIDE_UNTIL],
      [others, moment(nowMs + UNREADABLE_DELAY_MS)],
    ] as const) {
      if (items.length === 0) continue;
      const lockTokens = items.map(({ lockToken }) => lockToken);
      steps.push({ statement: hide(ctx), values: { lockTokens, visibleAt } });
    }
    await runTogether(tx, steps);
  });
}

function hide(ctx: ProviderContext): Statement<undefined> {
  return ctx.statement(
    'hide worker items',
    () => sql`update ${ctx.tables.workerQueue}
      set visible_at = ${sql.placeholder('visibleAt')}, lock_token = null, locked_until = null
      where lock_token = any(${sql.placeholder('lockTokens')}::text[])`,
    noRow,
  );
}

import { sql } from 'drizzle-orm';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { noRow } from '../statement.js';
import { inTransaction } from '../transaction.js';
import type { ReadableMessage, UnreadableMessage } from './decode-messages.js';
import { moment, SET_ASIDE_UNTIL } from './moment.js';

/** After how long an unreadable message is tried again, in ms. */
export const UNREADABLE_DELAY_MS: Ms = 1_000;

export interface UnreadableBatch {
  readonly operation: string;
  readonly instance: string;
  readonly lockToken: string;
  readonly readable: readonly ReadableMessage[];
  readonly unreadable: readonly UnreadableMessage[];
}

/**
 * Deals with messages of a locked instance that cannot be read (provider.md 3.1.2). Those
 * that were tried often enough are set aside for good, and if that is all of them the
 * rest of the instance goes on. Otherwise everything is given back for a while: the
 * unreadable keep their attempts, and the others get theirs back, because nothing was
 * tried with them and they must not become poison meanwhile.
 * @returns whether the instance is still locked, with its readable messages to be delivered
 */
export async function setAsideMessages(ctx: ProviderContext, batch: UnreadableBatch): Promise<boolean> {
  const { operation, instance, lockToken, readable, unreadable } = batch;
  const isSpent = ({ attemptCount }: UnreadableMessage) => attemptCount >= ctx.quarantineAttempts;
  const spent = unreadable.filter(isSpent).map(({ rowId }) => rowId);
  const goesOn = spent.length === unreadable.length && readable.length > 0;
  for (const message of unreadable) {
    const { rowId, attemptCount, reason } = message;
    const outcome = isSpent(message) ? 'it is set aside' : 'it is tried again';
    ctx.logger.error({ instance, rowId, attemptCount, reason }, `a message cannot be read: ${outcome}`);
  }
  await inTransaction(ctx, operation, async (tx, nowMs) => {
    if (spent.length > 0) await tx.run(setAside(ctx), { lockToken, rowIds: spent });
    if (goesOn) return;
    await tx.run(giveBackLater(ctx), {
      lockToken,
      visibleAt: moment(nowMs + UNREADABLE_DELAY_MS),
      untried: readable.map(({ rowId }) => rowId),
    });
    await tx.runLast(unlock(ctx), { instance, lockToken });
  });
  return goesOn;
}

const value = (name: string) => sql.placeholder(name);

function setAside(ctx: ProviderContext) {
  return ctx.statement(
    'set messages aside',
    () => sql`update ${ctx.tables.orchestratorQueue}
      set visible_at = ${SET_ASIDE_UNTIL}, lock_token = null, locked_until = null
      where lock_token = ${value('lockToken')} and id = any(${value('rowIds')}::bigint[])`,
    noRow,
  );
}

function giveBackLater(ctx: ProviderContext) {
  return ctx.statement(
    'give messages back later',
    () => sql`update ${ctx.tables.orchestratorQueue}
      set visible_at = ${value('visibleAt')}, lock_token = null, locked_until = null,
        attempt_count = case when id = any(${value('untried')}::bigint[]) then greatest(attempt_count - 1, 0) else attempt_count end
      where lock_token = ${value('lockToken')}`,
    noRow,
  );
}

function unlock(ctx: ProviderContext) {
  return ctx.statement(
    'unlock an instance',
    () => sql`delete from ${ctx.tables.instanceLocks}
      where instance_id = ${value('instance')} and lock_token = ${value('lockToken')}`,
    noRow,
  );
}

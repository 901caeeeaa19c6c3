import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import { noRow } from '../statement.js';
import { runStatement } from '../transaction.js';
import type { ClaimedMessage } from './claim-instances.js';
import type { WonInstance } from './fetch-round.js';

/** By the first bytes, which are the same in both layouts (provider.md 2.1). */
function looksLikeMailbox({ text }: ClaimedMessage): boolean {
  return text.startsWith('{"QueueMessage"');
}

/**
 * Mailbox messages of an instance that nobody started: dropped, as native does, but
 * without the execution row that native leaves behind (P:T-10).
 */
export function isOrphan({ messages, stored }: WonInstance): boolean {
  return stored.row === undefined && stored.events.length === 0 && messages.every(looksLikeMailbox);
}

/** Removes the messages that were claimed of orphans, and their locks. */
export async function removeOrphans(
  ctx: ProviderContext,
  operation: string,
  orphans: readonly Pick<WonInstance, 'instance' | 'lockToken'>[],
): Promise<void> {
  const { orchestratorQueue, instanceLocks } = ctx.tables;
  const value = (name: string) => sql.placeholder(name);
  const remove = ctx.statement(
    'fetch: remove orphans',
    () => sql`with messages as (delete from ${orchestratorQueue} where lock_token = any(${value('lockTokens')}::text[]) returning id),
      locks as (
        delete from ${instanceLocks}
        where instance_id = any(${value('instances')}::text[]) and lock_token = any(${value('lockTokens')}::text[]) returning instance_id
      )
      select instance_id from locks`,
    noRow,
  );
  await runStatement(ctx, operation, remove, {
    instances: orphans.map(({ instance }) => instance),
    lockTokens: orphans.map(({ lockToken }) => lockToken),
  });
}

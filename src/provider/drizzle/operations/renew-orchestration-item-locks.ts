import { sql } from 'drizzle-orm';
import type { Ms, OrchestrationLock, Renewal, Result } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { noRow, type Statement } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { heldAmong, lockRows, lockValues, withInstances } from './orchestration-locks.js';
import { runTogether } from './run-together.js';
import { done, failed, settleBatch } from './settle-batch.js';

const OPERATION = 'renew_orchestration_item_lock';

type Element = OrchestrationLock & Renewal;

/** Lets locks that are still held end `extendMs` from now, to the millisecond (P:T-8). */
export async function renewOrchestrationItemLocks(
  ctx: ProviderContext,
  given: readonly Element[],
): Promise<Result[]> {
  return settleBatch({
    elements: await withInstances(ctx, OPERATION, given),
    run: async (elements) => {
      const held = await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
        // Locked in order first: an update of many rows takes them in any order.
        const rows = await tx.run(lockRows(ctx, { unexpired: true }), { ...lockValues(elements), nowMs });
        const held = heldAmong(elements, rows);
        await runTogether(
          tx,
          Array.from(byExtension(held), ([extendMs, alike]) => ({
            statement: extend(ctx),
            values: { ...lockValues(alike), untilMs: nowMs + extendMs },
          })),
        );
        return held;
      }, { repeatable: true });
      return elements.map((element) =>
        held.has(element) ? done() : failed(ProviderError.permanent(OPERATION, errorTexts.orchestrationLockLost)),
      );
    },
  });
}

function byExtension(elements: ReadonlySet<Element>): Map<Ms, Element[]> {
  const groups = new Map<Ms, Element[]>();
  for (const element of elements) {
    const group = groups.get(element.extendMs);
    if (group) group.push(element);
    else groups.set(element.extendMs, [element]);
  }
  return groups;
}

function extend(ctx: ProviderContext): Statement<undefined> {
  const value = (name: string) => sql.placeholder(name);
  return ctx.statement(
    'renew: extend',
    () => sql`with locks as (
        update ${ctx.tables.instanceLocks} set locked_until = ${value('untilMs')}
        where instance_id = any(${value('instances')}::text[]) and lock_token = any(${value('lockTokens')}::text[])
        returning instance_id
      ), messages as (
        update ${ctx.tables.orchestratorQueue} set locked_until = ${value('untilMs')}
        where lock_token = any(${value('lockTokens')}::text[])
        returning id
      )
      select instance_id from locks`,
    noRow,
  );
}

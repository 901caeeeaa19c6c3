import { sql } from 'drizzle-orm';
import type { Abandon, Ms, OrchestrationLock, Result } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { noRow, type Statement } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { moment } from './moment.js';
import { heldAmong, lockRows, lockValues, withInstances } from './orchestration-locks.js';
import { runTogether, type Step } from './run-together.js';
import { done, failed, settleAccepted, tokensOnce } from './settle-batch.js';

const OPERATION = 'abandon_orchestration_item';

type Element = OrchestrationLock & Abandon;

/**
 * Gives instances back undone. An expired lock that nobody took is as good as a live
 * one (P:T-27). Messages that arrived meanwhile are not delayed.
 */
export async function abandonOrchestrationItems(
  ctx: ProviderContext,
  given: readonly Element[],
): Promise<Result[]> {
  const isFirst = tokensOnce();
  return settleAccepted<Element, Element, void>({
    elements: await withInstances(ctx, OPERATION, given),
    accept: (element) => (isFirst(element) ? { accepted: element } : lockLost()),
    run: async (elements) => {
      const held = await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
        const rows = await tx.run(lockRows(ctx, { unexpired: false }), lockValues(elements));
        const held = heldAmong(elements, rows);
        await runTogether(
          tx,
          groupsAlike(held).map((alike) => releaseStep(ctx, alike, nowMs)),
        );
        return held;
      });
      if ([...held].some(({ delayMs = 0 }) => delayMs <= 0)) ctx.wake('orchestrator');
      return elements.map((element) => (held.has(element) ? done() : lockLost()));
    },
  });
}

function lockLost(): Result {
  return failed(ProviderError.permanent(OPERATION, errorTexts.invalidLockToken));
}

/** Elements that one statement can treat alike: usually all. */
function groupsAlike(elements: ReadonlySet<Element>): Element[][] {
  const groups = new Map<string, Element[]>();
  for (const element of elements) {
    const key = `${Math.max(0, element.delayMs ?? 0)} ${element.ignoreAttempt === true}`;
    const group = groups.get(key);
    if (group) group.push(element);
    else groups.set(key, [element]);
  }
  return [...groups.values()];
}

function releaseStep(ctx: ProviderContext, alike: readonly Element[], nowMs: Ms): Step {
  const [{ delayMs = 0, ignoreAttempt = false } = {}] = alike;
  return {
    statement: release(ctx, delayMs > 0),
    values: {
      ...lockValues(alike),
      attempts: ignoreAttempt ? 1 : 0,
      ...(delayMs > 0 ? { visibleAt: moment(nowMs + delayMs) } : {}),
    },
  };
}

/** Without a delay `visible_at` stays as it is. */
function release(ctx: ProviderContext, isDelayed: boolean): Statement<undefined> {
  const value = (name: string) => sql.placeholder(name);
  return ctx.statement(
    `abandon: release${isDelayed ? ' with a delay' : ''}`,
    () => sql`with messages as (
        update ${ctx.tables.orchestratorQueue}
        set lock_token = null, locked_until = null, attempt_count = greatest(attempt_count - ${value('attempts')}::int, 0)
          ${isDelayed ? sql`, visible_at = ${value('visibleAt')}` : sql``}
        where lock_token = any(${value('lockTokens')}::text[])
        returning id
      ), locks as (
        delete from ${ctx.tables.instanceLocks}
        where instance_id = any(${value('instances')}::text[]) and lock_token = any(${value('lockTokens')}::text[])
        returning instance_id
      )
      select instance_id from locks`,
    noRow,
  );
}

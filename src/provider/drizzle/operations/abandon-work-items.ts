import { sql } from 'drizzle-orm';
import type { Abandon, Ms, Result, WorkItemLock } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { noRow, type Statement, textCell } from '../statement.js';
import { inTransaction } from '../transaction.js';
import { moment } from './moment.js';
import { runTogether } from './run-together.js';
import { done, failed, settleAccepted, tokensOnce } from './settle-batch.js';

const OPERATION = 'abandon_work_item';

type Element = WorkItemLock & Abandon;

/** Gives worker items back undone, also after their lock expired, as long as nobody took them (P:T-27). */
export async function abandonWorkItems(ctx: ProviderContext, given: readonly Element[]): Promise<Result[]> {
  const isFirst = tokensOnce();
  return settleAccepted<Element, Element, void>({
    elements: given,
    accept: (element) => (isFirst(element) ? { accepted: element } : lockLost()),
    run: async (elements) => {
      const held = await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
        const lockTokens = elements.map(({ lockToken }) => lockToken);
        const held = new Set(await tx.run(lockTokenRows(ctx), { lockTokens }));
        const steps = groupsAlike(elements.filter(({ lockToken }) => held.has(lockToken)));
        await runTogether(
          tx,
          steps.map(({ delayMs, ...values }) => ({
            statement: release(ctx),
            values: { ...values, visibleAt: moment(nowMs + delayMs) },
          })),
        );
        return held;
      });
      const isDue = ({ lockToken, delayMs = 0 }: Element) => delayMs <= 0 && held.has(lockToken);
      if (elements.some(isDue)) ctx.wake('worker');
      return elements.map(({ lockToken }) => (held.has(lockToken) ? done() : lockLost()));
    },
  });
}

interface Alike {
  readonly delayMs: Ms;
  readonly attempts: 0 | 1;
  readonly lockTokens: string[];
}

/** What one statement can treat alike: usually all. */
function groupsAlike(elements: readonly Element[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const { lockToken, delayMs = 0, ignoreAttempt = false } of elements) {
    const key = `${delayMs} ${ignoreAttempt}`;
    const group = groups.get(key);
    if (group) group.lockTokens.push(lockToken);
    else groups.set(key, { delayMs: Math.max(0, delayMs), attempts: ignoreAttempt ? 1 : 0, lockTokens: [lockToken] });
  }
  return [...groups.values()];
}

const value = (name: string) => sql.placeholder(name);

/** Before the update, which could only answer with the tokens that it leaves: none. */
function lockTokenRows(ctx: ProviderContext): Statement<string> {
  return ctx.statement(
    'abandon work: lock',
    () => sql`select lock_token from ${ctx.tables.workerQueue}
      where lock_token = any(${value('lockTokens')}::text[]) order by id for update`,
    ([lockToken]) => textCell(lockToken),
  );
}

function release(ctx: ProviderContext): Statement<undefined> {
  return ctx.statement(
    'abandon work: release',
    () => sql`update ${ctx.tables.workerQueue}
      set lock_token = null, locked_until = null, visible_at = ${value('visibleAt')},
        attempt_count = greatest(attempt_count - ${value('attempts')}::int, 0)
      where lock_token = any(${value('lockTokens')}::text[])`,
    noRow,
  );
}

function lockLost(): Result {
  return failed(ProviderError.permanent(OPERATION, errorTexts.abandonedWorkItemNotFound));
}

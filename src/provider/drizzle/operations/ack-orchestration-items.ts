import type { AckOrchestrationItem, InstanceState, Ms, Result } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { inTransaction } from '../transaction.js';
import { ackSteps } from './ack-steps.js';
import { byKind, isDirect, requireDirect, takeDirect } from './direct-turns.js';
import type { TellingEnds } from './end-states.js';
import { heldAmong, LOCK_MISSING, lockRows, lockValues, requireLocks, withInstances } from './orchestration-locks.js';
import { type PreparedTurn, prepareTurn, refuseTurn } from './prepared-turn.js';
import { visibleAtMs } from './queue-rows.js';
import { runTogether } from './run-together.js';
import { done, failed, settleAccepted, tokensOnce } from './settle-batch.js';

const OPERATION = 'ack_orchestration_item';

/*
 * The lock rows are locked before anything else (P:T-7), and in the first statement, so
 * that a slow link cannot outlive a lock behind its check (P:T-37).
 */

/**
 * Commits everything the turns decided: history, metadata, outgoing messages, and the
 * release of the instance locks; many turns in one transaction.
 * @returns one result per turn, in the given order; one that fails never fails the
 *   others. Its error is permanent if the lock is gone or an event id is taken;
 *   `outcome: 'unknown'` says that the commit may have happened.
 */
export async function ackOrchestrationItems(
  ctx: ProviderContext,
  given: readonly AckOrchestrationItem[],
  telling: TellingEnds = {},
): Promise<Result[]> {
  const turns = await withInstances(ctx, OPERATION, given);
  const isFirst = tokensOnce();
  return settleAccepted<AckOrchestrationItem, PreparedTurn, void>({
    elements: turns,
    accept: (turn) => {
      if (!isFirst(turn)) return lockLost();
      const refusal = refuseTurn(OPERATION, turn);
      return refusal ? failed(refusal) : { accepted: prepareTurn(turn) };
    },
    sizeOf: ({ bytes }) => bytes,
    run: (prepared) => ackTogether(ctx, prepared, telling),
  });
}

async function ackTogether(
  ctx: ProviderContext,
  prepared: readonly PreparedTurn[],
  telling: TellingEnds,
): Promise<Result[]> {
  const { held, nowMs, ends } =
    (await ackAllOrNone(ctx, prepared, telling)) ?? (await ackHeld(ctx, prepared, telling));
  telling.ended?.(ends);
  wakeFor(
    ctx,
    prepared.filter(({ turn }) => held.has(turn)),
    nowMs,
  );
  return prepared.map(({ turn }) => {
    if (held.has(turn)) return done();
    return isDirect(turn) ? failed(ProviderError.permanent(OPERATION, errorTexts.directTurnRefused)) : lockLost();
  });
}

interface Acked {
  readonly held: ReadonlySet<AckOrchestrationItem>;
  readonly nowMs: Ms;
  readonly ends: readonly InstanceState[];
}

/**
 * Supposes that every lock is held, as is usual, and sends the check together with all
 * that depends on it: one round trip instead of two.
 * @returns `undefined` when a lock is missing: nothing has happened, and nothing is known about the others
 */
async function ackAllOrNone(
  ctx: ProviderContext,
  prepared: readonly PreparedTurn[],
  telling: TellingEnds,
): Promise<Acked | undefined> {
  if (!ctx.driver.sendsBatches) return undefined;
  const turns = prepared.map(({ turn }) => turn);
  try {
    return await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
      const { fetched, direct } = byKind(turns);
      const check = { ...lockValues(fetched), nowMs, expected: fetched.length };
      const ends: InstanceState[] = [];
      await runTogether(tx, [
        ...(fetched.length > 0 ? [{ statement: requireLocks(ctx), values: check }] : []),
        ...requireDirect(ctx, direct, nowMs),
        ...ackSteps(ctx, prepared, nowMs, noting(ends, telling)),
      ]);
      return { held: new Set(turns), nowMs, ends };
    });
  } catch (error) {
    if (ProviderError.is(error) && error.sqlState === LOCK_MISSING) return undefined;
    throw error;
  }
}

/** Asks first which locks are held, and stores what belongs to those. */
function ackHeld(ctx: ProviderContext, prepared: readonly PreparedTurn[], telling: TellingEnds): Promise<Acked> {
  const turns = prepared.map(({ turn }) => turn);
  return inTransaction(ctx, OPERATION, async (tx, nowMs) => {
    const { fetched, direct } = byKind(turns);
    const rows = await tx.run(lockRows(ctx, { unexpired: true }), { ...lockValues(fetched), nowMs });
    const taken = await takeDirect(ctx, tx, direct, nowMs);
    const held = new Set([...heldAmong(fetched, rows), ...taken]);
    const ends: InstanceState[] = [];
    const steps = ackSteps(
      ctx,
      prepared.filter(({ turn }) => held.has(turn)),
      nowMs,
      noting(ends, telling),
    );
    if (held.size > 0) await runTogether(tx, steps);
    return { held, nowMs, ends };
  });
}

/** What is told after the commit is kept until then. */
function noting(ends: InstanceState[], { ended, notice }: TellingEnds): TellingEnds {
  return { ended: ended && ((states) => void ends.push(...states)), notice };
}

/** Tells others of what is due now; what is delayed is found when its time comes. */
function wakeFor(ctx: ProviderContext, turns: readonly PreparedTurn[], nowMs: Ms): void {
  const isDue = (turn: PreparedTurn) => turn.orchestratorRows.some((row) => visibleAtMs(row, nowMs) <= nowMs);
  if (turns.some(isDue)) ctx.wake('orchestrator');
  const leavesWork = ({ workerRows }: PreparedTurn) => workerRows.some(({ lockToken }) => lockToken === undefined);
  if (turns.some(leavesWork)) ctx.wake('worker');
}

function lockLost(): Result {
  return failed(ProviderError.permanent(OPERATION, errorTexts.invalidLockToken));
}

import type { AckOrchestrationItem, Ms, Result } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { inTransaction } from '../transaction.js';
import { ackSteps } from './ack-steps.js';
import { heldAmong, lockRows, lockValues, withInstances } from './orchestration-locks.js';
import { type PreparedTurn, prepareTurn, refuseTurn } from './prepared-turn.js';
import { visibleAtMs } from './queue-rows.js';
import { runTogether } from './run-together.js';
import { done, failed, settleAccepted, tokensOnce } from './settle-batch.js';

const OPERATION = 'ack_orchestration_item';

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
    run: (prepared) => ackTogether(ctx, prepared),
  });
}

async function ackTogether(ctx: ProviderContext, prepared: readonly PreparedTurn[]): Promise<Result[]> {
  const turns = prepared.map(({ turn }) => turn);
  const { held, nowMs } = await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
    // The first statement, so that a slow link cannot outlive the lock behind the check (P:T-7, P:T-37).
    const rows = await tx.run(lockRows(ctx, { unexpired: true }), { ...lockValues(turns), nowMs });
    const held = heldAmong(turns, rows);
    if (held.size > 0) {
      await runTogether(tx, ackSteps(ctx, prepared.filter(({ turn }) => held.has(turn)), nowMs));
    }
    return { held, nowMs };
  });
  wakeFor(ctx, prepared.filter(({ turn }) => held.has(turn)), nowMs);
  return turns.map((turn) => (held.has(turn) ? done() : lockLost()));
}

/** Tells others of what is due now; what is delayed is found when its time comes. */
function wakeFor(ctx: ProviderContext, turns: readonly PreparedTurn[], nowMs: Ms): void {
  const isDue = (turn: PreparedTurn) => turn.orchestratorRows.some((row) => visibleAtMs(row, nowMs) <= nowMs);
  if (turns.some(isDue)) ctx.wake('orchestrator');
  if (turns.some(({ workerRows }) => workerRows.length > 0)) ctx.wake('worker');
}

function lockLost(): Result {
  return failed(ProviderError.permanent(OPERATION, errorTexts.invalidLockToken));
}

import type { ResetResult } from '../../admin.js';
import { ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { orchestratorRow, orchestratorRows, workerRow, workerRows } from '../operations/queue-rows.js';
import { inTransaction } from '../transaction.js';
import type { Ms } from '../../provider.js';
import type { WorkItem } from '../../../wire/work-item.js';
import { findRetryPoint } from '../../retry-point.js';
import { instanceNotFound } from './describe-instances.js';
import { isMissingTable, missingTable } from './own-tables.js';
import { type AwaitedChild, childCompleted, childStart, planReset, type ResetPlan } from './reset-plan.js';
import { restoreKv } from './reset-kv.js';
import { loadForReset, lockForReset, ResetStatements } from './reset-statements.js';

const OPERATION = 'reset_instance';
/** A child of a child of …: more levels than any tree has, so that a circle of ids ends. */
const MAX_DEPTH = 100;

/**
 * Takes a failed instance back to one of its events, and lets it run on from there. All of
 * it is one transaction, failed children included, so that nothing is half done.
 */
export async function resetInstance(ctx: ProviderContext, instance: string, toEventId: number): Promise<ResetResult> {
  if (!Number.isSafeInteger(toEventId) || toEventId < 1) {
    throw ProviderError.permanent(OPERATION, `toEventId must be the id of an event, from 1, got ${String(toEventId)}`);
  }
  try {
    const result = await inTransaction(ctx, OPERATION, async (tx, nowMs) => {
      const reset = new Reset(ctx, tx, nowMs);
      const done = await reset.instance(instance, () => toEventId, undefined);
      await reset.release();
      return { done, enqueued: reset.enqueued };
    });
    for (const queue of result.enqueued) ctx.wake(queue);
    return result.done;
  } catch (error) {
    throw isMissingTable(error) ? missingTable(OPERATION, ctx, 'ddz_history_archive') : error;
  }
}

/** One reset, with all the instances that it touches. */
class Reset {
  readonly enqueued = new Set<'orchestrator' | 'worker'>();
  private readonly locked: string[] = [];
  private readonly statements: ResetStatements;

  constructor(
    private readonly ctx: ProviderContext,
    private readonly tx: Transaction,
    private readonly nowMs: Ms,
  ) {
    this.statements = new ResetStatements(ctx);
  }

  /**
   * @param pointOf tells the event from the history, or why there is none
   * @param parent the instance that takes this one back with itself
   */
  async instance(
    instance: string,
    pointOf: (history: ResetPlan['kept']) => number | { readonly refusal: string },
    parent: string | undefined,
  ): Promise<ResetResult> {
    const refuse: (reason: string) => never = (reason) => {
      throw ProviderError.permanent(OPERATION, `${instance} cannot be reset: ${reason}`);
    };
    if (this.locked.length >= MAX_DEPTH) refuse(`more than ${MAX_DEPTH} children would be reset with it`);
    if (!(await lockForReset(this.ctx, this.tx, instance, this.nowMs))) {
      throw ProviderError.retryable(OPERATION, `a worker has ${instance} at this moment; try again`);
    }
    this.locked.push(instance);

    const loaded = await loadForReset(this.ctx, this.tx, instance);
    if (!loaded) throw instanceNotFound(OPERATION, instance);
    const { executionId, status, history } = loaded;
    if (status !== 'Failed') refuse(`it is ${status}; only a failed instance can be`);
    if (parent === undefined && loaded.parentIsGone !== undefined) refuse(loaded.parentIsGone);
    if (history === undefined) refuse('its history cannot be read');
    const point = pointOf(history);
    if (typeof point !== 'number') refuse(point.refusal);
    const plan = planReset(history, point);
    if ('refusal' in plan) refuse(plan.refusal);

    // Work under way for what is taken back must end before its outcome is looked for.
    const where = { instance, executionId, toEventId: point };
    await this.statements.archive(this.tx, where, this.nowMs);
    await this.statements.forgetWork(this.tx, where);
    await this.statements.forgetOutcomes(this.tx, where);
    const kv = await restoreKv(this.ctx, this.tx, { instance, executionId, plan });
    if (kv !== undefined) refuse(kv);
    await this.statements.runAgain(this.tx, { ...where, nowMs: this.nowMs, status: customStatusOf(plan) });

    const pending = await this.statements.pendingSchedules(this.tx, where);
    const activities = plan.activities.filter((item) => item.kind !== 'ActivityExecute' || !pending.has(item.id));
    const timers = plan.timers.filter((item) => item.kind !== 'TimerFired' || !pending.has(item.id));
    await this.toWorkers(activities);
    await this.toOrchestrations([...timers, ...plan.messages, plan.wake]);
    const children = await this.children(plan.children.filter(({ scheduled }) => !pending.has(scheduled.eventId)));
    return {
      instanceId: instance,
      executionId,
      eventsArchived: plan.archived.length,
      activities: activities.length,
      timers: timers.length,
      children: children.started,
      messages: plan.messages.length,
      resetChildren: children.reset,
    };
  }

  /** Lets go of the instances: whoever waited for them finds them running. */
  release(): Promise<void> {
    return this.statements.unlock(this.tx, this.locked);
  }

  private async children(awaited: readonly AwaitedChild[]) {
    let started = 0;
    const reset: ResetResult[] = [];
    for (const child of awaited) {
      const state = await this.statements.childState(this.tx, child.instance);
      if (state === undefined) {
        started += 1;
        await this.toOrchestrations([childStart(child)]);
      } else if (state.status === 'Completed') {
        started += 1;
        await this.toOrchestrations([childCompleted(child, state.output ?? '')]);
      } else if (state.status === 'Failed') {
        // Its failure is what was taken back. It fails no more, or anew.
        reset.push(await this.instance(child.instance, retryPointOf, child.scheduled.instanceId));
      }
      // What is queued or runs answers when it ends.
    }
    return { started, reset };
  }

  private async toWorkers(items: readonly WorkItem[]): Promise<void> {
    if (items.length === 0) return;
    this.enqueued.add('worker');
    await this.statements.insertWork(this.tx, workerRows(items.map(workerRow), this.nowMs));
  }

  private async toOrchestrations(items: readonly WorkItem[]): Promise<void> {
    this.enqueued.add('orchestrator');
    const rows = items.map((item) => orchestratorRow(item));
    await this.statements.insertMessages(this.tx, orchestratorRows(rows, this.nowMs));
  }
}

function retryPointOf(history: ResetPlan['kept']): number | { readonly refusal: string } {
  const point = findRetryPoint(history);
  return point.kind === 'none' ? { refusal: point.reason } : point.toEventId;
}

/** The custom status at the event that stays last, if what is taken back has changed it. */
function customStatusOf({ kept, archived }: ResetPlan): { readonly text: string | null } | undefined {
  if (!archived.some(({ kind }) => kind === 'CustomStatusUpdated')) return undefined;
  for (const event of kept.toReversed()) {
    if (event.kind === 'CustomStatusUpdated') return { text: event.status };
    if (event.kind === 'OrchestrationStarted') return { text: event.initialCustomStatus ?? null };
  }
  return { text: null };
}

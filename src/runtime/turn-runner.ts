import type { LockedOrchestrationItem } from '../provider/provider.js';
import type { WorkItem } from '../wire/work-item.js';
import type { RuntimeCore } from './core.js';
import { needsParentExecution } from './replay/batch.js';
import type { CreateDriver } from './replay/driver.js';
import { createExecution } from './replay/execution.js';
import type { LiveExecution, ParentLink, TurnOutcome } from './replay/turn.js';
import type { ColdPlan, RunnablePlan } from './turn-plan.js';
import { firstDifference } from './verify-warm.js';
import type { WarmEntry } from './warm-cache.js';

/** A turn with the live execution that it left behind. */
export interface RanTurn {
  readonly execution: LiveExecution;
  readonly turn: TurnOutcome;
}

/** Runs planned turns in the engine; answers directly unless the driver or the plan has to wait. */
export class TurnRunner {
  private readonly now = () => this.core.provider.nowMs();

  constructor(private readonly core: RuntimeCore) {}

  /** Throws or rejects when the engine or a driver could not go on; nothing is decided then. */
  run(item: LockedOrchestrationItem, plan: RunnablePlan, messages: readonly WorkItem[]): RanTurn | Promise<RanTurn> {
    if (plan.kind === 'cold') return this.runCold(item, plan, messages);
    if (this.core.options.verifyWarm) return this.runVerified(item, plan.entry, messages);
    const { execution } = plan.entry;
    return ran(execution, execution.runWarm({ messages, now: this.now }));
  }

  private runCold(
    item: LockedOrchestrationItem,
    plan: ColdPlan,
    messages: readonly WorkItem[],
  ): RanTurn | Promise<RanTurn> {
    const { history, start, kvSnapshot } = plan;
    const run = (parentExecutionId?: number) => {
      const execution = this.newExecution(item.instance, plan.executionId, plan.handler.handler);
      return ran(
        execution,
        execution.runCold({ history, start, messages, kvSnapshot, now: this.now, parentExecutionId }),
      );
    };
    if (!plan.parent || !needsParentExecution(plan.parent)) return run();
    // A child that an old native started does not know the execution of its parent.
    return this.currentExecutionOf(plan.parent).then(run);
  }

  /** The same turn once more from the start of its history, with the same time, and compared. */
  private async runVerified(
    item: LockedOrchestrationItem,
    entry: WarmEntry,
    messages: readonly WorkItem[],
  ): Promise<RanTurn> {
    const { execution, name, version } = entry;
    const nowMs = this.core.provider.nowMs();
    const now = () => nowMs;
    const { events, kvSnapshot } = await this.core.provider.loadHistory(item);
    const warm = await execution.runWarm({ messages, now });
    const handler = this.core.orchestrations.resolveExact(name, version);
    if (!handler) throw new Error(`orchestration '${name}' ${version} is gone from the registry`);
    const replayed = this.newExecution(item.instance, execution.executionId, handler.handler);
    const cold = await replayed.runCold({ history: events, messages, kvSnapshot, now });
    const difference = firstDifference(warm, cold);
    if (difference !== undefined) {
      this.core.metrics.warmMismatches += 1;
      this.core.logger.error({ instance: item.instance }, `a warm turn differs from a cold replay: ${difference}`);
    }
    return { execution, turn: warm };
  }

  private newExecution(instance: string, executionId: number, createDriver: CreateDriver): LiveExecution {
    const { maxPayloadBytes } = this.core.options;
    return createExecution({ instance, executionId, createDriver, limits: { maxPayloadBytes } });
  }

  private async currentExecutionOf(parent: ParentLink): Promise<number | undefined> {
    try {
      return await this.core.provider.asManagement().latestExecutionId(parent.instance);
    } catch (error) {
      this.core.logger.warn({ instance: parent.instance, error }, "the parent's execution is unknown, 1 is assumed");
      return undefined;
    }
  }
}

function ran(execution: LiveExecution, outcome: TurnOutcome | Promise<TurnOutcome>): RanTurn | Promise<RanTurn> {
  return outcome instanceof Promise ? outcome.then((turn) => ({ execution, turn })) : { execution, turn: outcome };
}

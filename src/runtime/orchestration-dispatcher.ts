import type { LockedOrchestrationItem } from '../provider/provider.js';
import type { RuntimeCore } from './core.js';
import type { Dispatchable, Look } from './dispatcher-loop.js';
import type { Isolation } from './isolation.js';
import { versionFilter } from './options.js';
import { timed } from './timed.js';
import type { TurnProcessor } from './turn-processor.js';
import type { WarmCache } from './warm-cache.js';

/** Fetches instances that are ready and has their turns run, as many at once as there are slots. */
export class OrchestrationDispatcher implements Dispatchable {
  readonly queue = 'orchestrator';
  /** Half of the slots: while one half is acknowledged, the other is fetched and run. */
  private readonly fetchLimit: number;
  private fetching = false;

  constructor(
    private readonly core: RuntimeCore,
    private readonly processor: TurnProcessor,
    private readonly cache: WarmCache,
    private readonly isolation: Isolation,
    private readonly wakeUpCount: () => number,
  ) {
    this.fetchLimit = Math.max(1, Math.ceil(core.options.orchestrationConcurrency / 2));
  }

  /** Turns are held, beside a suspect, or are being fetched. */
  get holdsOthers(): boolean {
    return this.fetching || this.processor.othersHeld > 0;
  }

  hasRoom(): boolean {
    return !this.isolation.keepsTurnsAway && this.processor.held < this.core.options.orchestrationConcurrency;
  }

  async look(): Promise<Look> {
    this.fetching = true;
    try {
      return await this.fetch();
    } finally {
      this.fetching = false;
      this.isolation.check();
    }
  }

  /** One look, and everything settled that it brought: for tests and tools that step by hand. */
  async runOnce(): Promise<Look> {
    const look = await this.look();
    await this.processor.drained();
    return look;
  }

  private async fetch(): Promise<Look> {
    const free = this.core.options.orchestrationConcurrency - this.processor.held;
    const limit = Math.min(free, this.fetchLimit);
    const before = { takenAtMs: this.core.clock.nowMs(), wakeUps: this.wakeUpCount() };
    const { items, lost } = await timed(
      this.core.clock,
      'fetch_orchestration_item',
      () =>
        this.core.provider.fetchOrchestrationItems({
          limit,
          lockTimeoutMs: this.core.options.orchestratorLockTimeoutMs,
          filter: versionFilter(this.core.options.supportedReplayVersions),
          held: (instance) => this.cache.held(instance),
        }),
      (late) => this.processor.giveBack(late.items),
    );
    this.core.metrics.orchDispatcherItemsFetched += items.length;
    // In the same stretch they are counted among those that are held.
    this.fetching = false;
    await this.begin(items, before);
    return { fetched: items.length, lost, isFull: items.length >= limit };
  }

  private async begin(
    items: readonly LockedOrchestrationItem[],
    before: { readonly takenAtMs: number; readonly wakeUps: number },
  ): Promise<void> {
    if (items.length === 0) return;
    if (this.core.stopping.aborted) this.processor.giveBack(items);
    else await this.processor.process(items, before);
  }
}

import { Gate } from '../base/gate.js';
import type { RuntimeCore } from './core.js';
import { renewEveryMs } from '../provider/lock-keeper.js';

/** Keeps the sessions of this runtime while they are in use, and sweeps those that nobody has (runtime.md 1.7). */
export class SessionManager {
  private readonly gate: Gate;
  private readonly intervalMs: number;
  private ownsSessions = false;

  constructor(
    private readonly core: RuntimeCore,
    private readonly ownerId: string,
    /** Told whenever there begins or ceases to be something to renew. */
    private readonly onUse: (inUse: boolean) => void = () => undefined,
  ) {
    this.gate = new Gate(core.clock);
    const { sessionLockTimeoutMs, sessionLockRenewalBufferMs } = core.options;
    this.intervalMs = renewEveryMs(sessionLockTimeoutMs, sessionLockRenewalBufferMs);
  }

  /** A session was claimed: from now on there is something to renew. */
  inUse(): void {
    if (this.ownsSessions) return;
    this.ownsSessions = true;
    this.onUse(true);
    this.gate.wake();
  }

  /** Runs until the runtime stops. Without sessions it costs one sweep per interval and nothing else. */
  async run(): Promise<void> {
    const { clock, options, stopping } = this.core;
    stopping.addEventListener('abort', () => this.gate.wake(), { once: true });
    let renewAtMs = Infinity;
    let sweepAtMs = clock.nowMs() + options.sessionCleanupIntervalMs;
    while (!stopping.aborted) {
      if (this.ownsSessions && renewAtMs === Infinity) renewAtMs = clock.nowMs() + this.intervalMs;
      const waitMs = Math.min(renewAtMs, sweepAtMs) - clock.nowMs();
      if (waitMs > 0) {
        await this.gate.wait(waitMs);
        continue;
      }
      if (clock.nowMs() >= renewAtMs) {
        renewAtMs = clock.nowMs() + this.intervalMs;
        if (!(await this.renew())) {
          renewAtMs = Infinity;
          this.onUse(false);
        }
      }
      if (clock.nowMs() >= sweepAtMs) {
        sweepAtMs = clock.nowMs() + options.sessionCleanupIntervalMs;
        await this.sweep();
      }
    }
  }

  /** Whether there is anything left to renew. */
  private async renew(): Promise<boolean> {
    const { provider, options } = this.core;
    this.ownsSessions = false;
    try {
      const renewed = await provider.renewSessionLock({
        ownerIds: [this.ownerId],
        extendMs: options.sessionLockTimeoutMs,
        idleTimeoutMs: options.sessionIdleTimeoutMs,
      });
      // A session may have been claimed meanwhile: then it stays set.
      this.ownsSessions ||= renewed > 0;
    } catch (error) {
      this.ownsSessions = true;
      this.failed('renewing session locks failed', error);
    }
    return this.ownsSessions;
  }

  private async sweep(): Promise<void> {
    try {
      await this.core.provider.cleanupOrphanedSessions(this.core.options.sessionIdleTimeoutMs);
    } catch (error) {
      this.failed('sweeping sessions failed', error);
    }
  }

  private failed(message: string, error: unknown): void {
    this.core.metrics.providerErrors += 1;
    this.core.logger.warn({ error }, message);
  }
}

import type { Clock } from '../base/clock.js';
import { Gate } from '../base/gate.js';
import type { Logger } from '../base/logger.js';
import type { LockHolder } from './lock-thread.js';
import type { Result } from './provider.js';

/** Renewals come never more often than this, however short the lock. */
const MIN_RENEWAL_MS = 50;
/** Most locks renewed in one statement. */
const MAX_BATCH = 500;

/** How long after taking or renewing a lock it is renewed: a third of it, earlier if the buffer says so (runtime.md 1.5). */
export function renewEveryMs(lockTimeoutMs: number, bufferMs: number): number {
  const third = Math.floor(lockTimeoutMs / 3);
  const byBuffer = lockTimeoutMs - bufferMs;
  return Math.max(MIN_RENEWAL_MS, byBuffer > 0 ? Math.min(third, byBuffer) : third);
}

/** A lock that this process holds. */
interface HeldLock<Lock> {
  readonly lock: Lock;
  renewAtMs: number;
  lockedUntilMs: number;
  readonly onLost: () => void;
}

/** What a keeper counts. */
export interface LockMetrics {
  locksLost: number;
  lateRenewals: number;
}

export interface LockKeeperOptions<Lock> {
  /** For the log. */
  readonly what: string;
  readonly lockTimeoutMs: number;
  readonly renewalBufferMs: number;
  readonly renew: (locks: readonly Lock[]) => Promise<readonly Result[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: () => LockMetrics;
}

/**
 * Keeps the locks of one kind alive. Whatever falls due together is renewed by one
 * statement, on a timer of its own; the timer runs only while something is held.
 */
export class LockKeeper<Lock extends { readonly lockToken: string }> implements LockHolder<Lock> {
  private readonly held = new Map<string, HeldLock<Lock>>();
  private readonly gate: Gate;
  private readonly intervalMs: number;
  private running = false;

  constructor(private readonly options: LockKeeperOptions<Lock>) {
    this.gate = new Gate(options.clock);
    this.intervalMs = renewEveryMs(options.lockTimeoutMs, options.renewalBufferMs);
  }

  get size(): number {
    return this.held.size;
  }

  /**
   * Renews the lock until it is released.
   * @param takenAtMs a moment of the clock before the lock was taken
   * @param onLost called once when the lock ran out or went to somebody else; it is released then
   */
  hold(lock: Lock, takenAtMs: number, onLost: () => void): void {
    this.held.set(lock.lockToken, {
      lock,
      renewAtMs: takenAtMs + this.intervalMs,
      lockedUntilMs: takenAtMs + this.options.lockTimeoutMs,
      onLost,
    });
    if (!this.running) void this.run();
  }

  release(lock: Lock): void {
    this.held.delete(lock.lockToken);
    // Lets the loop end at once instead of holding the process for its interval.
    if (this.held.size === 0) this.gate.wake();
  }

  /** Gives up everything that is held without a word; for a stop that abandons it. */
  clear(): void {
    this.held.clear();
    this.gate.wake();
  }

  /** Renews nothing of it any more, as if every lock had been lost. */
  loseAll(): void {
    for (const held of [...this.held.values()]) this.lose(held);
    this.gate.wake();
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.held.size > 0) {
      const pauseMs = this.nextRenewalAtMs() - this.options.clock.nowMs();
      if (pauseMs > 0) {
        await this.gate.wait(pauseMs);
        continue;
      }
      if (-pauseMs > this.intervalMs) this.reportLate(-pauseMs);
      await this.renewDue();
    }
    this.running = false;
  }

  private nextRenewalAtMs(): number {
    let earliest = Infinity;
    for (const { renewAtMs } of this.held.values()) if (renewAtMs < earliest) earliest = renewAtMs;
    return earliest;
  }

  private async renewDue(): Promise<void> {
    const { clock, lockTimeoutMs, renew } = this.options;
    const sentAtMs = clock.nowMs();
    // What falls due soon goes along: one statement for all that were taken about then.
    const horizonMs = sentAtMs + this.intervalMs / 4;
    const due: HeldLock<Lock>[] = [];
    for (const held of this.held.values()) {
      if (held.renewAtMs <= horizonMs) due.push(held);
      if (due.length === MAX_BATCH) break;
    }
    const results = await renew(due.map(({ lock }) => lock)).catch(() => undefined);
    due.forEach((held, index) => {
      if (this.held.get(held.lock.lockToken) !== held) return; // released meanwhile
      const result = results?.[index];
      if (result?.ok) {
        held.renewAtMs = sentAtMs + this.intervalMs;
        held.lockedUntilMs = sentAtMs + lockTimeoutMs;
      } else if (result !== undefined && !result.error.retryable) this.lose(held);
      else this.tryAgain(held);
    });
  }

  /** The store does not answer: soon again, but once the lock has run out somebody else may have it. */
  private tryAgain(held: HeldLock<Lock>): void {
    const nowMs = this.options.clock.nowMs();
    if (nowMs >= held.lockedUntilMs) return this.lose(held);
    held.renewAtMs = nowMs + Math.max(MIN_RENEWAL_MS, Math.min(this.intervalMs, (held.lockedUntilMs - nowMs) / 2));
  }

  private lose(held: HeldLock<Lock>): void {
    this.held.delete(held.lock.lockToken);
    this.options.metrics().locksLost += 1;
    held.onLost();
  }

  private reportLate(lateMs: number): void {
    this.options.metrics().lateRenewals += 1;
    this.options.logger.warn(
      { lateMs: Math.round(lateMs), lockTimeoutMs: this.options.lockTimeoutMs },
      `the event loop was blocked or stalled: ${this.options.what} locks are renewed late and may be lost`,
    );
  }
}

import type { Clock } from '../base/clock.js';
import type { LockMetrics } from '../provider/lock-keeper.js';
import type { LockHolder, LockKind, LockThread, ThreadLocks } from '../provider/lock-thread.js';

interface HeldByThread<Lock> {
  readonly lock: Lock;
  readonly takenAtMs: number;
  readonly onLost: () => void;
}

/**
 * Locks of one kind, kept by the thread while there is one, and by the event loop otherwise.
 * If the thread dies, the event loop takes over what it held.
 */
export class ThreadedLocks<Kind extends LockKind> implements LockHolder<ThreadLocks[Kind]> {
  private readonly held = new Map<string, HeldByThread<ThreadLocks[Kind]>>();
  private thread: LockThread | undefined;

  constructor(
    private readonly kind: Kind,
    private readonly eventLoop: LockHolder<ThreadLocks[Kind]>,
    private readonly parts: { readonly clock: Clock; readonly metrics: () => Pick<LockMetrics, 'locksLost'> },
  ) {}

  get size(): number {
    return this.held.size + this.eventLoop.size;
  }

  /** From now on the thread keeps what is taken; `undefined`: the event loop does, and what the thread held. */
  use(thread: LockThread | undefined): void {
    this.thread = thread;
    if (thread !== undefined) return;
    const orphans = [...this.held.values()];
    this.held.clear();
    for (const { lock, takenAtMs, onLost } of orphans) this.eventLoop.hold(lock, takenAtMs, onLost);
  }

  hold(lock: ThreadLocks[Kind], takenAtMs: number, onLost: () => void): void {
    if (this.thread === undefined) return this.eventLoop.hold(lock, takenAtMs, onLost);
    this.held.set(lock.lockToken, { lock, takenAtMs, onLost });
    this.thread.hold(this.kind, lock, this.parts.clock.nowMs() - takenAtMs);
  }

  release(lock: ThreadLocks[Kind]): void {
    if (this.held.delete(lock.lockToken)) this.thread?.release(this.kind, lock.lockToken);
    else this.eventLoop.release(lock);
  }

  clear(): void {
    for (const { lock } of this.held.values()) this.thread?.release(this.kind, lock.lockToken);
    this.held.clear();
    this.eventLoop.clear();
  }

  /** The thread says that a lock is gone; it may have been released meanwhile. */
  lost(lockToken: string): void {
    const held = this.held.get(lockToken);
    if (held === undefined) return;
    this.held.delete(lockToken);
    this.parts.metrics().locksLost += 1;
    held.onLost();
  }
}

import type { Logger } from '../base/logger.js';
import type { Ms, OrchestrationLock, WorkItemLock } from './provider.js';

/** Keeps locks of one kind alive until they are released. */
export interface LockHolder<Lock> {
  /** How many are held. */
  readonly size: number;
  /**
   * @param takenAtMs a moment of the caller's clock before the lock was taken
   * @param onLost called once when the lock ran out or went to somebody else; it is released then
   */
  hold(lock: Lock, takenAtMs: Ms, onLost: () => void): void;
  release(lock: Lock): void;
  /** Gives up everything that is held without a word. */
  clear(): void;
}

/** The locks that a thread can keep, by kind. */
export interface ThreadLocks {
  readonly orchestration: OrchestrationLock;
  readonly work: WorkItemLock;
}

export type LockKind = keyof ThreadLocks;

/** How long locks of a kind last, and how early they are renewed (runtime.md 1.5). */
export interface LockTiming {
  readonly lockTimeoutMs: Ms;
  readonly renewalBufferMs: Ms;
}

export interface LockThreadOptions {
  readonly timings: Readonly<Record<LockKind, LockTiming>>;
  readonly sessions: LockTiming & { readonly ownerId: string; readonly idleTimeoutMs: Ms };
  /**
   * The thread renews nothing more once it has not heard of the caller's event loop for so
   * long: a process that hangs for ever must not keep its work for ever.
   */
  readonly maxSilenceMs: Ms;
  readonly logger: Logger;
  /** A lock ran out or went to somebody else. */
  readonly onLost: (kind: LockKind, lockToken: string) => void;
  /** The thread ended without being asked to; nothing is renewed from now on. */
  readonly onDied: (error: Error) => void;
}

/** Renews locks on a thread with a connection of its own, however long the event loop is blocked (design 5.5). */
export interface LockThread {
  /** @param ageMs how long ago the lock was taken, at most */
  hold<Kind extends LockKind>(kind: Kind, lock: ThreadLocks[Kind], ageMs: Ms): void;
  release(kind: LockKind, lockToken: string): void;
  /** Whether sessions of the owner are in use and have to be renewed. */
  useSessions(inUse: boolean): void;
  /** Ends the thread and its connection. Nothing is lost by it: what is held simply is no longer renewed. */
  close(): Promise<void>;
}

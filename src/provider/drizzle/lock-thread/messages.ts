import type { LockKind, LockTiming } from '../../lock-thread.js';
import type { Ms, OrchestrationLock, WorkItemLock } from '../../provider.js';

/** What the thread is started with. */
export interface LockThreadData {
  readonly driver: 'node-postgres' | 'postgres-js';
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether passwords have to be asked for. */
  readonly asksForPassword: boolean;
  readonly namedStatements: boolean;
  readonly schema: string;
  readonly timings: Readonly<Record<LockKind, LockTiming>>;
  readonly sessions: LockTiming & { readonly ownerId: string; readonly idleTimeoutMs: Ms };
  readonly maxSilenceMs: Ms;
}

/** From the event loop to the thread. Any of them says that the event loop lives. */
export type ToThread =
  | { readonly say: 'alive' }
  | { readonly say: 'hold'; readonly kind: 'orchestration'; readonly lock: OrchestrationLock; readonly ageMs: Ms }
  | { readonly say: 'hold'; readonly kind: 'work'; readonly lock: WorkItemLock; readonly ageMs: Ms }
  | { readonly say: 'release'; readonly kind: LockKind; readonly lockToken: string }
  | { readonly say: 'sessions'; readonly inUse: boolean }
  | { readonly say: 'password'; readonly password: string }
  | { readonly say: 'no password'; readonly reason: string }
  | { readonly say: 'close' };

export type FromThread =
  | { readonly say: 'ready' }
  | { readonly say: 'lost'; readonly kind: LockKind; readonly lockToken: string }
  | { readonly say: 'password?' }
  | {
      readonly say: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    };

import type { Clock } from '../base/clock.js';
import type {
  AckOrchestrationItem,
  LockedWorkItem,
  Provider,
  WorkerLocks,
  WorkItemLock,
} from '../provider/provider.js';
import { newTokenPrefix } from '../provider/lock-token.js';
import type { WorkItem } from '../wire/work-item.js';
import type { ResolvedRuntimeOptions } from './options.js';
import { isForOthers } from './takes-work.js';

/** What it needs of the runtime. */
export interface OwnWorkCore {
  readonly provider: Pick<Provider, 'locksOwnWork'>;
  readonly options: Pick<ResolvedRuntimeOptions, 'tagFilter' | 'workerLockTimeoutMs'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly stopping: AbortSignal;
}

export interface OwnWorkParts {
  /** How many more rows of its own turns this process may hold. */
  room(): number;
  /** Whether the activity is one of this process's. */
  isRegistered(activity: string): boolean;
  /** Runs rows that this process has locked since `takenAtMs` of its clock. */
  take(rows: readonly LockedWorkItem[], takenAtMs: number): void;
  /** Gives rows back that may be locked, or may not exist. */
  giveBack(locks: readonly WorkItemLock[]): void;
}

/** Activities of a turn that this process wants for itself. */
export interface OwnClaim {
  readonly locks: WorkerLocks;
  /** The turn is committed: they are locked. */
  committed(): void;
  /** The turn is not committed. `isKnown: false`: or perhaps it is. */
  failed(isKnown: boolean): void;
}

/**
 * Activities that a turn of this process schedules and that this process has room for are
 * locked by the commit that stores them. It saves the fetch: a transaction, a round trip, and
 * the second version of the row.
 */
export class OwnWork {
  private reserved = 0;

  constructor(
    private readonly core: OwnWorkCore,
    private readonly parts: OwnWorkParts,
  ) {}

  /** Rows that are about to be locked. */
  get reservedCount(): number {
    return this.reserved;
  }

  /** What of a turn's work to take; `undefined`: nothing. The claim has to be answered once. */
  claim({ workerItems, cancelledActivities }: AckOrchestrationItem): OwnClaim | undefined {
    const { core, parts } = this;
    const { provider, options, clock, stopping } = core;
    if (workerItems.length === 0 || !provider.locksOwnWork || stopping.aborted) return;
    // An activity that its own turn cancels is never stored: a rare turn, which is left as it is.
    if (cancelledActivities.length > 0) return;
    let room = parts.room();
    const prefix = newTokenPrefix();
    const tokens = workerItems.map((item) => {
      if (room <= 0 || item.kind !== 'ActivityExecute') return null;
      if (isForOthers(options.tagFilter, item) || !parts.isRegistered(item.name)) return null;
      room -= 1;
      return prefix + String(item.id);
    });
    const rows = workerItems.flatMap((item, index) => lockedRow(item, tokens[index]));
    if (rows.length === 0) return;
    const takenAtMs = clock.nowMs();
    this.reserved += rows.length;
    return {
      locks: { lockTimeoutMs: options.workerLockTimeoutMs, tokens },
      committed: () => {
        this.reserved -= rows.length;
        parts.take(rows, takenAtMs);
      },
      failed: (isKnown) => {
        this.reserved -= rows.length;
        if (!isKnown) parts.giveBack(rows);
      },
    };
  }
}

function lockedRow(item: WorkItem, lockToken: string | null | undefined): LockedWorkItem[] {
  if (item.kind !== 'ActivityExecute' || typeof lockToken !== 'string') return [];
  return [{ item, instance: item.instance, lockToken, attemptCount: 1 }];
}

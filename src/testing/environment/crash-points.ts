import type { AckOrchestrationItem, WorkItemLock } from '../../provider/provider.js';

/** Where the process may die. */
export interface CrashAt {
  /**
   * `commit`: when a turn of the orchestration, or the result of the activity, is stored.
   * `start`: when it was fetched and has not run.
   * @defaultValue `'commit'`
   */
  readonly at?: 'start' | 'commit' | undefined;
  /** At which such moment, from 1, counted from this call on. @defaultValue `1` */
  readonly nth?: number | undefined;
  /** Only for this instance. */
  readonly instance?: string | undefined;
}

/** A crash that was asked for. */
export interface PlannedCrash {
  /** Whether it has happened. */
  readonly happened: boolean;
}

/** @internal */
export interface CrashPoint extends PlannedCrash {
  readonly side: 'before' | 'after';
  readonly at: 'start' | 'commit';
  readonly kind: 'activity' | 'orchestration';
  readonly name: string;
  readonly instance: string | undefined;
  countdown: number;
  happened: boolean;
}

/** What is about to happen, or has just happened, to an activity or an orchestration. */
export interface Moment {
  readonly at: 'start' | 'commit';
  readonly kind: 'activity' | 'orchestration';
  readonly name: string;
  readonly instance: string;
}

/** Knows which moments a process does not survive. Which is which never depends on time, only on the order of work. */
export class CrashPoints {
  private points: CrashPoint[] = [];
  /** Names by lock token, from the fetch until the acknowledgement. */
  private readonly locked = new Map<string, Omit<Moment, 'at'>>();

  /** @throws RangeError for a count that is none */
  add(
    side: 'before' | 'after',
    { kind, name }: { readonly kind: 'activity' | 'orchestration'; readonly name: string },
    { at = 'commit', nth = 1, instance }: CrashAt,
  ): PlannedCrash {
    if (at !== 'start' && at !== 'commit') {
      throw new RangeError(`crash: at must be 'start' or 'commit', got '${String(at)}'`);
    }
    if (!Number.isInteger(nth) || nth < 1) throw new RangeError(`crash: nth must be a whole number from 1, got ${nth}`);
    const point: CrashPoint = { side, at, kind, name, instance, countdown: nth, happened: false };
    this.points.push(point);
    return point;
  }

  remember(lockToken: string, about: Omit<Moment, 'at'>): void {
    this.locked.set(lockToken, about);
  }

  /** What acknowledgements are about; abandoned or expired ones are forgotten with the process. */
  commitsOf(elements: readonly (WorkItemLock | AckOrchestrationItem)[]): Moment[] {
    return elements.flatMap(({ lockToken }) => {
      const about = this.locked.get(lockToken);
      return about ? [{ ...about, at: 'commit' as const }] : [];
    });
  }

  forgetLocks(): void {
    this.locked.clear();
  }

  /** Whether the process dies now, on this side of these moments. Counts each of them. */
  strikes(side: 'before' | 'after', moments: readonly Moment[]): boolean {
    let strikes = false;
    for (const moment of moments) {
      for (const point of this.points) {
        if (point.side !== side || !concerns(point, moment)) continue;
        point.countdown -= 1;
        if (point.countdown > 0) continue;
        point.happened = true;
        strikes = true;
      }
      this.points = this.points.filter(({ happened }) => !happened);
    }
    return strikes;
  }
}

function concerns(point: CrashPoint, moment: Moment): boolean {
  return (
    point.at === moment.at &&
    point.kind === moment.kind &&
    point.name === moment.name &&
    (point.instance === undefined || point.instance === moment.instance)
  );
}

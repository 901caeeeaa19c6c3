import type { ActivityRow } from './activity-run.js';

interface Session {
  /** Rows of the session that this process holds. */
  held: number;
  running: boolean;
  readonly waiting: ActivityRow[];
}

/**
 * The sessions whose activities this process holds. Their number is bounded, and without a
 * node id of the user's the activities of one session run one after the other, as they do
 * in native, where a slot owns the session.
 */
export class SessionSlots {
  private readonly sessions = new Map<string, Session>();
  private openedCount = 0;

  constructor(
    private readonly maxSessions: number,
    private readonly serial: boolean,
    /** The last row of a session is gone: there is room for another one. */
    private readonly closed: () => void = () => undefined,
  ) {}

  /** How many sessions were admitted so far: tells how many some moment brought. */
  get opened(): number {
    return this.openedCount;
  }

  /** How many more sessions may get running activities. */
  get room(): number {
    return Math.max(0, this.maxSessions - this.sessions.size);
  }

  /** Counts a fetched row; `false` when its session is one too many. Rows without a session always fit. */
  admit({ item: { sessionId } }: ActivityRow): boolean {
    if (sessionId === undefined) return true;
    const session = this.sessions.get(sessionId);
    if (session) session.held += 1;
    else if (this.room === 0) return false;
    else {
      this.sessions.set(sessionId, { held: 1, running: false, waiting: [] });
      this.openedCount += 1;
    }
    return true;
  }

  /** Whether the row may run now; otherwise it is kept until {@link leave} hands it out. */
  enter(activity: ActivityRow): boolean {
    const session = this.sessionOf(activity);
    if (!session || !this.serial) return true;
    if (session.running) {
      session.waiting.push(activity);
      return false;
    }
    session.running = true;
    return true;
  }

  /** A row that ran has ended; answers the next one of its session that may run. */
  leave(activity: ActivityRow): ActivityRow | undefined {
    const session = this.sessionOf(activity);
    if (!session) return undefined;
    session.running = false;
    this.forget(activity);
    return session.waiting.shift();
  }

  /** A row that never ran is given up. */
  forget(activity: ActivityRow): void {
    const session = this.sessionOf(activity);
    if (!session) return;
    session.held -= 1;
    const at = session.waiting.indexOf(activity);
    if (at >= 0) session.waiting.splice(at, 1);
    if (session.held > 0) return;
    this.sessions.delete(activity.item.sessionId ?? '');
    this.closed();
  }

  private sessionOf({ item: { sessionId } }: ActivityRow): Session | undefined {
    return sessionId === undefined ? undefined : this.sessions.get(sessionId);
  }
}

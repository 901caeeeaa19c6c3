import { jitterMs } from '../base/backoff.js';
import type { RuntimeCore } from './core.js';

/**
 * A suspect waits for answers, and is left alone while it runs, for at most so long each:
 * a long activity must not stop the others for ever. In ms.
 */
const PATIENCE_MS = 30_000;
/** How long activities that run may take to end: before a turn not as long, which soon ends itself. */
const RUNNING_PATIENCE_MS = { turn: 1_000, activity: PATIENCE_MS };
/** How long turns stay away from an activity that has begun: what kills its process mostly does so at once. */
const GRACE_MS = 1_000;
/** Pause of a suspect for which another one is in the way: never the same, so that two get out of step. */
const PUT_OFF_MS = [500, 1_500] as const;
/** How long a kind that was put off comes first: longer than its pause. */
const OWED_MS = 2_000;

/** Ends the timers of a suspect; made once, because an abort without a reason makes an error with a stack. */
const OVER = new Error('the isolation is over');

export type SuspectKind = 'turn' | 'activity';

/** What may have killed its process before. */
export interface Suspect {
  readonly kind: SuspectKind;
  /** Runs it. */
  begin(): void;
  /** Gives it back before it has begun, without costing it an attempt; the isolation is over. */
  giveBack(delayMs: number): void;
  /** It is settled, or has run for so long that others may run beside it. */
  over(): void;
}

/** What the process holds beside the suspect. */
export interface Neighbours {
  /** Turns are held, or being fetched. */
  hasTurns(): boolean;
  /** Activities are held that do not run, or are being fetched. */
  hasIdleActivities(): boolean;
  hasRunningActivities(): boolean;
  /** Gives back the activities that have not started. */
  giveBackActivities(): void;
  /** Turns may be fetched again. */
  turnsMayGoOn(): void;
  /** Activities may be fetched again. */
  activitiesMayGoOn(): void;
}

interface Isolated {
  readonly suspect: Suspect;
  readonly timers: AbortController;
  /** Waits for activities that run, waits for answers about everything else, or has begun. */
  phase: 'activities run' | 'answers' | 'begun';
  /** A suspect of the other kind has had its chance. */
  wasChallenged: boolean;
}

/**
 * Lets one suspect at a time, a turn or an activity, run while its process holds nothing else
 * that its death would cost an attempt (runtime.md 1.9). No activity is fetched meanwhile;
 * turns stay away from the end of the wait for activities until it has run for a moment.
 */
export class Isolation {
  private isolated: Isolated | undefined;
  private areTurnsAway = false;
  private owed: { readonly kind: SuspectKind } | undefined;

  constructor(
    private readonly core: Pick<RuntimeCore, 'clock' | 'random' | 'stopping'>,
    private readonly neighbours: Neighbours,
  ) {
    core.stopping.addEventListener('abort', () => this.stop(), { once: true });
  }

  /** There is a suspect: no other activity may be fetched or started. */
  get isPresent(): boolean {
    return this.isolated !== undefined;
  }

  /** No turn may be fetched. */
  get keepsTurnsAway(): boolean {
    return this.areTurnsAway;
  }

  /** Begins the suspect as soon as it is alone; gives it back when another one is in the way. */
  isolate(suspect: Suspect): void {
    if (this.core.stopping.aborted) return suspect.giveBack(0);
    const before = this.isolated;
    if (!this.isNext(suspect.kind)) {
      if (before && before.suspect.kind !== suspect.kind) this.owe(suspect.kind);
      return suspect.giveBack(this.putOffMs());
    }
    if (this.owed?.kind === suspect.kind) this.owed = undefined;
    const isolated: Isolated = {
      suspect,
      timers: new AbortController(),
      phase: 'activities run',
      wasChallenged: before !== undefined,
    };
    this.isolated = isolated;
    if (before) this.displace(before);
    this.after(RUNNING_PATIENCE_MS[suspect.kind], isolated, () => this.awaitAnswers(isolated));
    this.neighbours.giveBackActivities();
    this.check();
  }

  /** Something ended: perhaps the suspect is alone now. */
  check(): void {
    const { isolated, neighbours } = this;
    if (!isolated || isolated.phase === 'begun' || neighbours.hasIdleActivities()) return;
    if (isolated.phase === 'activities run') {
      if (!neighbours.hasRunningActivities()) this.awaitAnswers(isolated);
    } else if (!neighbours.hasTurns()) this.begin(isolated);
  }

  /** The suspect is settled, or its lock was lost; others may go on. Of no effect for anything else. */
  ended(suspect: Suspect): void {
    const { isolated } = this;
    if (isolated?.suspect !== suspect) return;
    this.isolated = undefined;
    isolated.timers.abort(OVER);
    suspect.over();
    this.keepTurnsAway(false);
    this.neighbours.activitiesMayGoOn();
  }

  /**
   * Whoever came first stays, but until it has begun the other kind has one even chance: a new
   * process fetches both at once, and a deadly one must not always come before a harmless one.
   */
  private isNext(kind: SuspectKind): boolean {
    const { isolated, owed } = this;
    if (!isolated) return owed === undefined || owed.kind === kind;
    if (isolated.suspect.kind === kind || isolated.phase === 'begun' || isolated.wasChallenged) return false;
    isolated.wasChallenged = true;
    return this.core.random() < 0.5;
  }

  private displace({ suspect, timers }: Isolated): void {
    timers.abort(OVER);
    this.owe(suspect.kind);
    suspect.giveBack(this.putOffMs());
    this.keepTurnsAway(false);
  }

  /** Many suspects of one kind, one after the other, must not shut out the other kind. */
  private owe(kind: SuspectKind): void {
    const owed = { kind };
    this.owed = owed;
    this.core.clock.sleep(OWED_MS, this.core.stopping).then(
      () => {
        if (this.owed === owed) this.owed = undefined;
      },
      () => undefined,
    );
  }

  private putOffMs(): number {
    return Math.round(jitterMs(...PUT_OFF_MS, this.core.random));
  }

  private awaitAnswers(isolated: Isolated): void {
    if (isolated.phase !== 'activities run') return;
    isolated.phase = 'answers';
    this.keepTurnsAway(true);
    this.after(PATIENCE_MS, isolated, () => this.begin(isolated));
    this.check();
  }

  private begin(isolated: Isolated): void {
    if (isolated.phase === 'begun') return;
    isolated.phase = 'begun';
    this.after(GRACE_MS, isolated, () => this.keepTurnsAway(false));
    this.after(PATIENCE_MS, isolated, () => this.ended(isolated.suspect));
    isolated.suspect.begin();
  }

  private keepTurnsAway(areAway: boolean): void {
    if (this.areTurnsAway === areAway) return;
    this.areTurnsAway = areAway;
    if (!areAway) this.neighbours.turnsMayGoOn();
  }

  /** What has begun ends as everything does that runs; nothing waits any longer. */
  private stop(): void {
    const { isolated } = this;
    if (!isolated) return;
    isolated.timers.abort(OVER);
    if (isolated.phase === 'begun') return;
    this.isolated = undefined;
    isolated.suspect.giveBack(0);
  }

  private after(ms: number, { timers }: Isolated, act: () => void): void {
    this.core.clock.sleep(ms, timers.signal).then(
      () => {
        if (!timers.signal.aborted) act();
      },
      () => undefined,
    );
  }
}

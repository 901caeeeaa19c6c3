import { pickOne } from '../base/pick-one.js';
import type { LockHolder } from '../provider/lock-thread.js';
import type { ActivityRef, LockedWorkItem, WorkItemLock } from '../provider/provider.js';
import type { ActivityResult } from './activity-failure.js';
import { storableFailure } from './activity-failure.js';
import type { ActivityHandler } from './activity-handler.js';
import type { ActivityRow } from './activity-run.js';
import type { ActivityRunnerParts } from './activity-runner.js';
import { ActivityRunner } from './activity-runner.js';
import type { ActivityEffects } from './activity-settlement.js';
import { ActivitySettlement } from './activity-settlement.js';
import type { RuntimeCore } from './core.js';
import type { Dispatchable, Look } from './dispatcher-loop.js';
import { FetchAhead } from './fetch-ahead.js';
import { unregisteredDelayMs } from './fetch-errors.js';
import { HeldRows } from './held-rows.js';
import type { Isolation, Suspect } from './isolation.js';
import { OwnWork } from './own-work.js';
import { poisonActivity } from './poison.js';
import { SessionSlots } from './session-slots.js';
import { timed } from './timed.js';
import type { SettledActivity } from './transactional-run.js';

/** Pause of a row of a session that is one too many. */
const SESSION_FULL_DELAY_MS = 100;
/** No fetch while so many acknowledgements are under way. */
const MAX_PENDING_ACKS = 1_000;

/** An activity that may be what killed its process before. */
interface SuspectActivity extends Suspect {
  readonly activity: ActivityRow;
}

export interface WorkerParts extends Pick<ActivityRunnerParts, 'names' | 'client' | 'trace' | 'storage'> {
  readonly keeper: LockHolder<WorkItemLock>;
  readonly isolation: Isolation;
  readonly systemActivities: ReadonlyMap<string, ActivityHandler>;
  readonly effects: Pick<ActivityEffects, 'becomesVisible' | 'goOn'> & {
    /** There may be room for more rows. */
    roomFreed(): void;
    /** Rows that the last look had to leave may be taken now. */
    lookAgain(): void;
    /** The queue was seen to be empty, and nothing was heard of since. */
    isQueueEmpty(): boolean;
    /** A row with a session is held. */
    sessionsInUse(): void;
  };
}

/** Fetches activities and has them run, as many at once as there are slots (runtime.md 1.6). */
export class WorkerDispatcher implements Dispatchable {
  readonly queue = 'worker';
  /** Activities of this process's own turns, which need no fetch. */
  readonly ownWork: OwnWork;
  private readonly settlement: ActivitySettlement;
  private readonly runner: ActivityRunner;
  private readonly sessions: SessionSlots;
  private readonly ahead: FetchAhead;
  private suspect: SuspectActivity | undefined;
  private fetching = false;
  private readonly held = new HeldRows();
  /** The last look took as many sessions as it might: rows of others may have been left. */
  private leftSessions = false;

  constructor(
    private readonly core: RuntimeCore,
    private readonly parts: WorkerParts,
  ) {
    const { workerConcurrency, maxSessionsPerRuntime, workerNodeId } = core.options;
    this.sessions = new SessionSlots(maxSessionsPerRuntime, workerNodeId === undefined, () => this.sessionClosed());
    this.ahead = new FetchAhead(core, workerConcurrency, (takenBeforeMs) => this.giveBackWaiting(takenBeforeMs));
    this.settlement = new ActivitySettlement(core, {
      ...parts.effects,
      released: (activity) => this.released(activity),
    });
    this.runner = new ActivityRunner(core, {
      ...parts,
      sessions: this.sessions,
      handlerOf: (name) => this.handlerOf(name),
      started: () => this.held.started(),
      answered: (durationMs) => this.ahead.handlerEnded(durationMs),
      ended: (activity, result) => this.ended(activity, result),
      settled: (activity, how) => this.settled(activity, how),
      releaseLock: ({ row }) => parts.keeper.release(row),
      discarded: (activity) => this.discarded(activity),
      slotFreed: () => this.slotFreed(),
    });
    this.ownWork = new OwnWork(core, {
      room: () => this.roomForOwn(),
      isRegistered: (name) => this.handlerOf(name) !== undefined,
      take: (rows, takenAtMs) => void this.took(rows, takenAtMs, true),
      giveBack: (locks) => this.giveBackUnseen(locks),
    });
  }

  /** Owner of the sessions of this runtime. */
  get sessionOwner(): string {
    return this.core.options.workerNodeId ?? this.runner.workerId(0);
  }

  /** Activities whose handler runs. */
  get runningCount(): number {
    return this.runner.runningCount;
  }

  /** Rows are held, beside a suspect and those that run, or are being fetched. */
  get holdsIdle(): boolean {
    if (this.fetching || this.ownWork.reservedCount > 0) return true;
    return this.held.size - (this.suspect ? 1 : 0) > this.runner.runningCount;
  }

  hasRoom(): boolean {
    return !this.parts.isolation.isPresent && this.room() > 0 && this.settlement.pending < MAX_PENDING_ACKS;
  }

  async look(): Promise<Look> {
    this.fetching = true;
    try {
      return await this.fetch();
    } finally {
      this.fetching = false;
      this.parts.isolation.check();
    }
  }

  private async fetch(): Promise<Look> {
    const takenAtMs = this.core.clock.nowMs();
    const request = this.request();
    const openedBefore = this.sessions.opened;
    const rows = await timed(
      this.core.clock,
      'fetch_work_item',
      () => this.core.provider.fetchWorkItems(request),
      (late) => this.giveBack(late, takenAtMs),
    );
    // In the same stretch they are counted among those that are held.
    this.fetching = false;
    await this.took(rows, takenAtMs);
    this.leftSessions = this.sessions.opened - openedBefore >= request.maxNewSessions;
    // A session that closed during the look has made room that the look did not know of.
    const mayTakeSessions = this.leftSessions && this.sessions.room > 0;
    return { fetched: rows.length, lost: 0, isFull: rows.length >= request.limit || mayTakeSessions };
  }

  /** One look, and everything settled that it brought: for tests and tools that step by hand. */
  async runOnce(): Promise<Look> {
    const look = await this.look();
    await this.quiet();
    return look;
  }

  /** Resolves when nothing is held: no activity waits, runs or is being settled. */
  quiet(): Promise<void> {
    return this.held.quiet();
  }

  /** These activities were cancelled: those that this process holds learn it now. */
  cancel(activities: readonly ActivityRef[]): void {
    for (const { instance, executionId, activityId } of activities) {
      const run = this.runner.find(instance, executionId, activityId);
      if (run) {
        this.parts.keeper.release(run.activity.row);
        this.runner.cancel(run, 'cancelled');
      } else {
        this.dropWaiting(
          ({ item }) => item.id === activityId && item.executionId === executionId && item.instance === instance,
        );
      }
    }
  }

  /** Gives back what has not started. */
  abandonWaiting(): void {
    this.withdrawAndGiveBack(() => true);
  }

  /** Gives back what has not started, except for a suspect. */
  giveBackBesideSuspect(): void {
    this.withdrawAndGiveBack((waiting) => waiting !== this.suspect?.activity);
  }

  /** Gives back what still runs, at a stop that waits no longer, and tells the handlers. */
  abandonRunning(): void {
    for (const activity of this.runner.stopAll()) this.settlement.abandon(activity, { ignoreAttempt: true });
  }

  private request() {
    const { workerLockTimeoutMs, sessionLockTimeoutMs, tagFilter } = this.core.options;
    const maxNewSessions = this.sessions.room;
    return {
      limit: this.room(),
      lockTimeoutMs: workerLockTimeoutMs,
      // At the limit only rows without a session are asked for, as in native.
      session: maxNewSessions > 0 ? { ownerId: this.sessionOwner, lockTimeoutMs: sessionLockTimeoutMs } : undefined,
      maxNewSessions,
      tagFilter,
    };
  }

  private room(): number {
    const held = this.held.waitingCount + this.runner.runningCount + this.ownWork.reservedCount;
    return this.ahead.limit - held;
  }

  /** Work that lies in the queue is older: it keeps half of the rows that the process may hold. */
  private roomForOwn(): number {
    if (this.parts.isolation.isPresent) return 0;
    const room = this.room();
    if (this.parts.effects.isQueueEmpty()) return room;
    return Math.min(room, (this.ahead.limit >> 1) - this.held.ownCount - this.ownWork.reservedCount);
  }

  /** Rows are locked by this process. */
  private async took(rows: readonly LockedWorkItem[], takenAtMs: number, isOwn = false): Promise<void> {
    this.core.metrics.workerDispatcherItemsFetched += rows.length;
    if (rows.length === 0) return;
    if (this.core.stopping.aborted) this.giveBack(rows, takenAtMs);
    else await this.take(rows, takenAtMs, isOwn);
  }

  private async take(rows: readonly LockedWorkItem[], takenAtMs: number, isOwn: boolean): Promise<void> {
    const usable: ActivityRow[] = [];
    const suspects: ActivityRow[] = [];
    for (const row of rows) {
      const activity = this.hold(row, takenAtMs, isOwn);
      if (!activity || !this.admit(activity)) continue;
      this.held.admitted();
      (row.attemptCount >= this.core.options.suspectAttempts ? suspects : usable).push(activity);
    }
    await this.parts.names.load([...usable, ...suspects].map(({ item }) => item.instance));
    const waiting = (activity: ActivityRow) => this.held.isWaiting(activity);
    if (suspects.length > 0) this.isolate(suspects.filter(waiting));
    // They may have been on their way when the suspect came.
    if (this.parts.isolation.isPresent) this.giveBackBesideSuspect();
    else this.runner.enqueue(usable.filter(waiting));
    if (this.held.waitingCount > 0) this.ahead.rowsWait();
  }

  /** Keeps the lock of the row; `undefined` when it is no activity at all. */
  private hold(row: LockedWorkItem, takenAtMs: number, isOwn = false): ActivityRow | undefined {
    const { item } = row;
    if (item.kind !== 'ActivityExecute') {
      this.core.logger.error({ kind: item.kind, attempt: row.attemptCount }, 'a worker row is no activity');
      const { instance, lockToken } = row;
      const back = [{ instance, lockToken, delayMs: this.backOffMs(row.attemptCount) }];
      void this.core.provider.abandonWorkItems(back).catch(() => undefined);
      return undefined;
    }
    const activity: ActivityRow = { row, item, state: 'waiting', takenAtMs, isOwn };
    this.held.add(activity);
    this.parts.keeper.hold(row, takenAtMs, () => this.lockLost(activity));
    return activity;
  }

  /** Whether the row may run; settles it if not. */
  private admit(activity: ActivityRow): boolean {
    const { row, item } = activity;
    const { metrics, logger, options } = this.core;
    const fields = { instance: item.instance, activity: item.name, attempt: row.attemptCount };
    if (row.attemptCount > options.maxAttempts) {
      logger.error(fields, 'an activity was given up as poison');
      this.settlement.complete(activity, poisonActivity(this.core, row, item), () => (metrics.activityPoison += 1));
      return false;
    }
    if (!this.handlerOf(item.name)) {
      const delayMs = this.backOffMs(row.attemptCount);
      logger.warn({ ...fields, delayMs }, `put off: activity '${item.name}' is not registered in this runtime`);
      metrics.activityConfigErrors += 1;
      this.settlement.abandon(activity, { delayMs });
      return false;
    }
    if (item.sessionId !== undefined) this.parts.effects.sessionsInUse();
    if (this.sessions.admit(activity)) return true;
    this.settlement.abandon(activity, { delayMs: SESSION_FULL_DELAY_MS, ignoreAttempt: true });
    return false;
  }

  private handlerOf(name: string): ActivityHandler | undefined {
    return this.parts.systemActivities.get(name) ?? this.core.activities.find(name);
  }

  private backOffMs(attempt: number): number {
    const { unregisteredBaseDelayMs, unregisteredMaxDelayMs } = this.core.options;
    return unregisteredDelayMs(attempt, unregisteredBaseDelayMs, unregisteredMaxDelayMs);
  }

  /** One suspect is kept, of several a random one; the others are given back. */
  private isolate(suspects: readonly ActivityRow[]): void {
    const chosen = pickOne(suspects, this.core.random);
    if (!chosen) return;
    const over = () => {
      if (this.suspect === suspect) this.suspect = undefined;
    };
    const suspect: SuspectActivity = {
      kind: 'activity',
      activity: chosen,
      begin: () => this.runner.enqueue([chosen]),
      giveBack: (delayMs) => {
        over();
        // Those of them that are still here would be fetched, and be in the way, again and again.
        this.withdrawAndGiveBack((waiting) => suspects.includes(waiting), delayMs);
      },
      over,
    };
    // Of two, which only rows of own turns can bring about, the first one stays.
    this.suspect ??= suspect;
    this.parts.isolation.isolate(suspect);
  }

  private ended(activity: ActivityRow, result: ActivityResult): void {
    const { instance, executionId, id } = activity.item;
    const { metrics } = this.core;
    if (result.ok) {
      const completion = { kind: 'ActivityCompleted', instance, executionId, id, result: result.result } as const;
      return this.settlement.complete(activity, completion, () => (metrics.activitySuccess += 1));
    }
    const details = {
      kind: 'Application',
      application: { kind: 'ActivityFailed' },
      message: storableFailure(activity.item.name, result.message, this.core.options.maxPayloadBytes),
      retryable: false,
      ...(result.failure && { failure: result.failure }),
    } as const;
    const completion = { kind: 'ActivityFailed', instance, executionId, id, details } as const;
    this.settlement.complete(activity, completion, () => (metrics.activityAppErrors += 1));
  }

  /** A transactional activity, whose row its own transaction has dealt with. */
  private settled(activity: ActivityRow, how: SettledActivity): void {
    this.settlement.settled(activity, how);
  }

  private slotFreed(): void {
    this.parts.isolation.check();
    this.parts.effects.roomFreed();
  }

  private sessionClosed(): void {
    if (!this.leftSessions) return;
    this.leftSessions = false;
    this.parts.effects.lookAgain();
  }

  private lockLost(activity: ActivityRow): void {
    const { instance, executionId, id, name } = activity.item;
    if (activity.state === 'waiting') return this.dropWaiting((waiting) => waiting === activity);
    const run = this.runner.find(instance, executionId, id);
    if (run?.activity !== activity) return;
    this.core.logger.debug({ instance, activity: name }, 'a running activity was cancelled or lost its lock');
    this.runner.cancel(run, 'lockLost');
  }

  private dropWaiting(matches: (activity: ActivityRow) => boolean): void {
    for (const activity of this.withdraw(matches)) this.discarded(activity);
  }

  /** Takes out rows that have not started. */
  private withdraw(matches: (activity: ActivityRow) => boolean): ActivityRow[] {
    const taken = this.held.withdraw(matches);
    if (taken.length > 0) this.runner.withdraw(new Set(taken));
    return taken;
  }

  /** Rows that wait for their session stay: nobody else may run them. So does a suspect. */
  private giveBackWaiting(takenBeforeMs: number) {
    const isMovable = (waiting: ActivityRow) =>
      waiting.item.sessionId === undefined && waiting !== this.suspect?.activity;
    const givenBack = this.withdrawAndGiveBack((waiting) => waiting.takenAtMs <= takenBeforeMs && isMovable(waiting));
    return { givenBack, waiting: this.held.waitingCount };
  }

  /** Gives back rows that have not started, and says how many. */
  private withdrawAndGiveBack(matches: (activity: ActivityRow) => boolean, delayMs = 0): number {
    const back = this.withdraw(matches);
    for (const activity of back) this.settlement.abandon(activity, { delayMs, ignoreAttempt: true });
    return back.length;
  }

  /** Rows that came too late, or while the runtime stops. */
  private giveBack(rows: readonly LockedWorkItem[], takenAtMs: number): void {
    for (const row of rows) {
      const activity = this.hold(row, takenAtMs);
      if (activity) this.settlement.abandon(activity, { ignoreAttempt: true });
    }
  }

  /** Rows of a turn whose commit was not answered: if they exist, somebody should run them soon. */
  private giveBackUnseen(locks: readonly WorkItemLock[]): void {
    const back = locks.map(({ instance, lockToken }) => ({ instance, lockToken, ignoreAttempt: true }));
    // A lock that nobody gives back runs out by itself.
    void this.core.provider.abandonWorkItems(back).catch((error: unknown) => {
      this.core.logger.warn({ error }, 'giving back activities of a turn whose commit was not answered failed');
    });
  }

  private discarded(activity: ActivityRow): void {
    this.core.metrics.activityDiscarded += 1;
    this.released(activity);
  }

  private released(activity: ActivityRow): void {
    this.parts.keeper.release(activity.row);
    this.held.delete(activity);
    if (this.suspect?.activity === activity) this.parts.isolation.ended(this.suspect);
    else this.parts.isolation.check();
    // A look may have waited for acknowledgements, of which there were too many.
    this.parts.effects.roomFreed();
    this.held.tellWhoeverWaits();
  }
}

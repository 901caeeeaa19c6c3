import { AsyncLocalStorage } from 'node:async_hooks';
import { claimRejections } from '../base/rejection-guard.js';
import { Client } from '../client/client.js';
import type { QueueName } from '../provider/provider.js';
import { systemActivity } from './activity-handler.js';
import { RunningActivity } from './activity-run.js';
import type { RuntimeCore } from './core.js';
import { DirectTurns } from './direct-turns.js';
import { DispatcherLoop } from './dispatcher-loop.js';
import { NamesOfInstances } from './execution-names.js';
import { pollGauges } from './gauges.js';
import { tellOfItself } from './heartbeat.js';
import { IdleProbe } from './idle-probe.js';
import { Isolation } from './isolation.js';
import { OrchestrationDispatcher } from './orchestration-dispatcher.js';
import { RuntimeLocks } from './runtime-locks.js';
import { ScheduleLoop } from './schedule-loop.js';
import { SessionManager } from './session-manager.js';
import { StartQueueLoop } from './start-queue-loop.js';
import { systemActivities } from './system-activities.js';
import { isForOthers } from './takes-work.js';
import type { WriteTrace } from './tracing/trace-record.js';
import { TurnProcessor } from './turn-processor.js';
import { WarmCache } from './warm-cache.js';
import { WorkerDispatcher } from './worker-dispatcher.js';

/** After the time-out of a stop: how long writes that are under way may still take. */
const LAST_WRITES_MS = 5_000;

/**
 * Everything that runs between a `start` and its `shutdown`: the two dispatchers, what
 * they share, and how they wake each other. Made new at each start, so nothing of an
 * earlier life is left in it.
 */
export class RunningRuntime {
  readonly orchestrations: OrchestrationDispatcher;
  readonly activities: WorkerDispatcher;
  private readonly locks: RuntimeLocks;
  private readonly processor: TurnProcessor;
  private readonly cache: WarmCache;
  private readonly probe: IdleProbe;
  private readonly orchestrationLoop: DispatcherLoop;
  private readonly workerLoop: DispatcherLoop;
  private readonly sessions: SessionManager;
  private readonly runsOrchestrations: boolean;
  private readonly runsActivities: boolean;
  private readonly storage = new AsyncLocalStorage<RunningActivity>();
  /** Turns whose acknowledgement is under way and that schedule activities which are, or may be, left to others. */
  private workForOthers = 0;
  private loops: Promise<unknown>[] = [];
  private releases: (() => void)[] = [];

  constructor(
    private readonly core: RuntimeCore,
    writeTrace: WriteTrace,
  ) {
    const { provider, options, clock } = core;
    this.runsOrchestrations = options.orchestrationConcurrency > 0;
    this.runsActivities = options.workerConcurrency > 0 && options.tagFilter.kind !== 'none';
    this.cache = new WarmCache({ entries: options.warmInstances, bytes: options.warmBytes });
    this.probe = new IdleProbe(core, (queue) => this.loopOf(queue));
    const names = new NamesOfInstances(provider);
    this.locks = new RuntimeLocks(core);
    const isolation = new Isolation(core, {
      hasTurns: () => this.orchestrations.holdsOthers,
      hasIdleActivities: () => this.activities.holdsIdle,
      hasRunningActivities: () => this.activities.runningCount > 0,
      giveBackActivities: () => this.activities.giveBackBesideSuspect(),
      turnsMayGoOn: () => this.orchestrationLoop.roomFreed(),
      activitiesMayGoOn: () => this.workerLoop.roomFreed(),
    });
    this.processor = new TurnProcessor(core, this.locks.orchestrations, this.cache, isolation, {
      committing: (workerItems) => {
        if (!workerItems.some((item) => isForOthers(options.tagFilter, item))) return () => undefined;
        this.workForOthers += 1;
        return () => (this.workForOthers -= 1);
      },
      ownWork: (turn) => this.activities.ownWork.claim(turn),
      workEnqueued: (instance, of) => names.remember(instance, of),
      becomesVisible: (atMs) => this.probe.noteTimer(atMs),
      activitiesCancelled: (activities) => this.activities.cancel(activities),
      released: ({ wakeUps }) => {
        // A wake-up that came while the instance was locked may have been for its messages,
        // which no fetch could see.
        if (this.orchestrationLoop.wakeUpCount > wakeUps) this.orchestrationLoop.wake();
        else this.orchestrationLoop.roomFreed();
      },
    });
    this.orchestrations = new OrchestrationDispatcher(
      core,
      this.processor,
      this.cache,
      isolation,
      () => this.orchestrationLoop.wakeUpCount,
    );
    const direct = new DirectTurns(core, {
      cache: this.cache,
      isolation,
      takesTurns: () => this.runsOrchestrations && this.loops.length > 0,
      run: (turn) => this.processor.runDirect(turn),
    });
    this.activities = new WorkerDispatcher(core, {
      keeper: this.locks.activities,
      isolation,
      names,
      client: lazily(() => new Client(provider, { maxPayloadBytes: options.maxPayloadBytes, clock })),
      trace: writeTrace,
      storage: this.storage,
      systemActivities: new Map([...systemActivities(provider)].map(([name, run]) => [name, systemActivity(run)])),
      effects: {
        becomesVisible: (atMs) => this.probe.noteTimer(atMs, 'worker'),
        goOn: (outcome) => direct.offer(outcome),
        roomFreed: () => this.workerLoop.roomFreed(),
        lookAgain: () => this.workerLoop.wake(),
        isQueueEmpty: () => this.runsActivities && this.workerLoop.foundNothingMore,
        sessionsInUse: () => this.sessions.inUse(),
      },
    });
    this.orchestrationLoop = new DispatcherLoop(core, this.probe, this.orchestrations);
    this.workerLoop = new DispatcherLoop(core, this.probe, this.activities);
    this.sessions = new SessionManager(core, this.activities.sessionOwner, (inUse) => this.locks.useSessions(inUse));
  }

  /** What the loops need beside this thread, before they start. @throws UnsupportedError, ProviderError */
  async prepare(): Promise<void> {
    await this.locks.start(this.activities.sessionOwner);
  }

  /** Undoes {@link prepare} where the loops never started. */
  async discard(): Promise<void> {
    await this.locks.close();
  }

  /** Starts the loops. */
  start(): void {
    const { min, max } = this.core.options.supportedReplayVersions;
    this.core.logger.info({ runtimeId: this.core.runtimeId, min, max }, 'the runtime starts');
    this.releases.push(
      this.core.provider.onWakeUp((queue, isFromElsewhere) => this.takesAtOnce(queue, isFromElsewhere)),
      this.core.provider.onDeleted(() => this.cache.clear()),
      claimRejections((reason) => this.claimRejection(reason)),
      this.core.host.retain({ watchesRawCalls: this.core.options.warnRawCalls }),
    );
    if (this.runsOrchestrations) this.loops.push(this.orchestrationLoop.run());
    if (this.runsActivities) this.loops.push(this.workerLoop.run(), this.sessions.run());
    if (this.loops.length > 0) this.loops.push(this.probe.run());
    const schedules = this.runsOrchestrations ? this.core.provider.schedules?.() : undefined;
    if (schedules) this.loops.push(new ScheduleLoop(this.core, schedules).run());
    const startQueues = this.runsOrchestrations ? this.core.provider.startQueues?.() : undefined;
    if (startQueues) this.loops.push(new StartQueueLoop(this.core, startQueues).run());
    this.loops.push(pollGauges(this.core), this.heartbeats());
  }

  /**
   * Called after the stop signal. Resolves as soon as nothing more will be written: what
   * runs may end until the time-out, what has not begun is given back at once.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.activities.abandonWaiting();
    const finished = this.finished();
    const inTime = timeoutMs > 0 && (await this.within(timeoutMs, finished));
    if (!inTime) {
      this.activities.abandonRunning();
      this.processor.abandonRunning();
      if (!(await this.within(LAST_WRITES_MS, finished))) {
        this.core.logger.error({}, 'the store does not answer: locks of this runtime will run out by themselves');
      }
    }
    for (const release of this.releases) release();
    this.releases = [];
    // Until then every promise of the process costs a look at it.
    this.storage.disable();
    this.cache.clear();
    await this.locks.close();
  }

  private heartbeats(): Promise<void> {
    const { orchestrationConcurrency, workerConcurrency } = this.core.options;
    return tellOfItself(this.core, {
      orchestrationSlots: () => ({
        inUse: Math.min(this.processor.held, orchestrationConcurrency),
        total: this.runsOrchestrations ? orchestrationConcurrency : 0,
      }),
      activitySlots: () => ({
        inUse: this.activities.runningCount,
        total: this.runsActivities ? workerConcurrency : 0,
      }),
    });
  }

  private async finished(): Promise<void> {
    await Promise.all(this.loops);
    // A fetch that ended during the stop may have brought rows that are being given back.
    await Promise.all([this.processor.drained(), this.activities.quiet()]);
  }

  private async within(ms: number, done: Promise<unknown>): Promise<boolean> {
    const timer = new AbortController();
    const timedOut = this.core.clock.sleep(ms, timer.signal).then(
      () => false,
      () => true,
    );
    const inTime = await Promise.race([done.then(() => true), timedOut]);
    timer.abort();
    return inTime;
  }

  private loopOf(queue: QueueName): DispatcherLoop {
    return queue === 'orchestrator' ? this.orchestrationLoop : this.workerLoop;
  }

  /** Wakes the dispatcher, and says whether it will take what this process has just enqueued. */
  private takesAtOnce(queue: QueueName, isFromElsewhere = false): boolean {
    const loop = this.loopOf(queue);
    if (isFromElsewhere) loop.wakeFromElsewhere();
    else loop.wake();
    if (this.core.stopping.aborted) return false;
    if (queue === 'orchestrator') return this.runsOrchestrations && this.orchestrations.hasRoom();
    return this.runsActivities && this.activities.hasRoom() && this.workForOthers === 0;
  }

  /** A promise that an activity left behind was rejected: that must not end the process (C-33). */
  private claimRejection(reason: unknown): boolean {
    const run = this.storage.getStore();
    if (!(run instanceof RunningActivity)) return false;
    const { instance, name } = run.activity.item;
    this.core.logger.error({ instance, activity: name, error: reason }, 'an activity left a promise that was rejected');
    return true;
  }
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

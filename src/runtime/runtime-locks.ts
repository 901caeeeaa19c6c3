import { LockKeeper } from '../provider/lock-keeper.js';
import type { LockThread } from '../provider/lock-thread.js';
import type { OrchestrationLock, WorkItemLock } from '../provider/provider.js';
import { UnsupportedError } from '../provider/provider-error.js';
import type { RuntimeCore } from './core.js';
import { ThreadedLocks } from './threaded-locks.js';

/**
 * The locks that a runtime holds, and who renews them: the event loop, or with
 * `lockRenewal: 'worker-thread'` a thread that goes on while the event loop is blocked.
 */
export class RuntimeLocks {
  readonly orchestrations: ThreadedLocks<'orchestration'>;
  readonly activities: ThreadedLocks<'work'>;
  private thread: LockThread | undefined;
  private sessionsInUse = false;

  constructor(private readonly core: RuntimeCore) {
    const { provider, options, clock, logger, metrics } = core;
    const shared = { clock, logger, metrics: () => metrics };
    this.orchestrations = new ThreadedLocks(
      'orchestration',
      new LockKeeper<OrchestrationLock>({
        ...shared,
        what: 'orchestration',
        lockTimeoutMs: options.orchestratorLockTimeoutMs,
        renewalBufferMs: options.orchestratorLockRenewalBufferMs,
        renew: (locks) => provider.renewOrchestrationItemLocks(extended(locks, options.orchestratorLockTimeoutMs)),
      }),
      shared,
    );
    this.activities = new ThreadedLocks(
      'work',
      new LockKeeper<WorkItemLock>({
        ...shared,
        what: 'activity',
        lockTimeoutMs: options.workerLockTimeoutMs,
        renewalBufferMs: options.workerLockRenewalBufferMs,
        renew: (locks) => provider.renewWorkItemLocks(extended(locks, options.workerLockTimeoutMs)),
      }),
      shared,
    );
  }

  /**
   * Starts the thread, if the options ask for one; nothing may be held yet.
   * @throws UnsupportedError, ProviderError when the provider cannot have one
   */
  async start(sessionOwner: string): Promise<void> {
    const { provider, options, logger } = this.core;
    if (options.lockRenewal !== 'worker-thread') return;
    if (provider.startLockThread === undefined) {
      throw new UnsupportedError(
        `lockRenewal: 'worker-thread' needs a provider that can renew locks from a thread, which ${provider.name()} cannot; ` +
          "use lockRenewal: 'event-loop'",
      );
    }
    this.thread = await provider.startLockThread({
      timings: {
        orchestration: {
          lockTimeoutMs: options.orchestratorLockTimeoutMs,
          renewalBufferMs: options.orchestratorLockRenewalBufferMs,
        },
        work: { lockTimeoutMs: options.workerLockTimeoutMs, renewalBufferMs: options.workerLockRenewalBufferMs },
      },
      sessions: {
        ownerId: sessionOwner,
        lockTimeoutMs: options.sessionLockTimeoutMs,
        renewalBufferMs: options.sessionLockRenewalBufferMs,
        idleTimeoutMs: options.sessionIdleTimeoutMs,
      },
      maxSilenceMs: options.maxEventLoopBlockMs,
      logger,
      onLost: (kind, lockToken) => (kind === 'work' ? this.activities : this.orchestrations).lost(lockToken),
      onDied: (error) => this.threadDied(error),
    });
    this.orchestrations.use(this.thread);
    this.activities.use(this.thread);
    this.thread.useSessions(this.sessionsInUse);
  }

  useSessions(inUse: boolean): void {
    this.sessionsInUse = inUse;
    this.thread?.useSessions(inUse);
  }

  /** Ends the thread. Called when nothing is held any more. */
  async close(): Promise<void> {
    const { thread } = this;
    this.detach();
    await thread?.close();
  }

  private threadDied(error: Error): void {
    this.core.logger.error({ error }, 'the thread that renews locks has died; the event loop renews them from now on');
    this.detach();
  }

  private detach(): void {
    this.thread = undefined;
    this.orchestrations.use(undefined);
    this.activities.use(undefined);
  }
}

function extended<Lock>(locks: readonly Lock[], extendMs: number): (Lock & { extendMs: number })[] {
  return locks.map((lock) => ({ ...lock, extendMs }));
}

import type { Worker } from 'node:worker_threads';
import { errorText } from '../../../base/error-text.js';
import { assertNever } from '../../../base/assert-never.js';
import type { LockKind, LockThread, LockThreadOptions, ThreadLocks } from '../../lock-thread.js';
import type { Ms } from '../../provider.js';
import type { ConnectionSettings } from '../executor.js';
import type { FromThread, ToThread } from './messages.js';

/** How often the event loop says that it lives. */
const HEARTBEAT_MS: Ms = 1_000;
/** How long the thread may take to end its connection. */
const CLOSE_TIMEOUT_MS: Ms = 2_000;

/** The event loop's side of the thread. */
export class WorkerLockThread implements LockThread {
  /** Resolves when the thread is connected; rejects when it ended before. */
  readonly ready: Promise<void>;
  private readonly heartbeat: NodeJS.Timeout;
  private isReady = false;
  private closing = false;
  private readonly ended: Promise<void>;

  constructor(
    private readonly worker: Worker,
    private readonly connection: Pick<ConnectionSettings, 'password'>,
    private readonly options: LockThreadOptions,
  ) {
    this.ready = new Promise((resolve, reject) => {
      worker.on('message', (message: FromThread) => {
        if (message.say === 'ready') {
          this.isReady = true;
          // What is not waited for keeps no process alive.
          worker.unref();
          resolve();
        } else this.heard(message);
      });
      let failure: Error | undefined;
      worker.on('error', (error) => (failure = error));
      worker.on('exit', (code) => {
        clearInterval(this.heartbeat);
        const error = failure ?? new Error(`the thread that renews locks ended (${code})`);
        if (!this.isReady) reject(error);
        else if (!this.closing) this.options.onDied(error);
      });
    });
    this.ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    this.heartbeat = setInterval(() => this.say({ say: 'alive' }), HEARTBEAT_MS);
    this.heartbeat.unref();
  }

  hold<Kind extends LockKind>(kind: Kind, lock: ThreadLocks[Kind], ageMs: Ms): void {
    // Only what names the lock: a locked item comes with its history.
    const { instance, lockToken } = lock;
    this.say({ say: 'hold', kind, lock: { instance, lockToken }, ageMs } as ToThread);
  }

  release(kind: LockKind, lockToken: string): void {
    this.say({ say: 'release', kind, lockToken });
  }

  useSessions(inUse: boolean): void {
    this.say({ say: 'sessions', inUse });
  }

  async close(): Promise<void> {
    this.closing = true;
    this.worker.ref();
    this.say({ say: 'close' });
    const timer = setTimeout(() => void this.worker.terminate(), CLOSE_TIMEOUT_MS);
    await this.ended;
    clearTimeout(timer);
  }

  private say(message: ToThread): void {
    this.worker.postMessage(message);
  }

  private heard(message: Exclude<FromThread, { say: 'ready' }>): void {
    switch (message.say) {
      case 'lost':
        return this.options.onLost(message.kind, message.lockToken);
      case 'log':
        return this.options.logger[message.level](message.fields, message.message);
      case 'password?':
        return void this.sendPassword();
      default:
        return assertNever(message, 'message of the lock thread');
    }
  }

  private async sendPassword(): Promise<void> {
    try {
      this.say({ say: 'password', password: (await this.connection.password?.()) ?? '' });
    } catch (error) {
      this.say({ say: 'no password', reason: errorText(error) });
    }
  }
}

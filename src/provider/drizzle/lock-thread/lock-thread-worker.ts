/**
 * The program of the thread that renews locks. It has a connection, a clock measured
 * against the database and the loops that the event loop would have, and nothing of the
 * application's: no handler, no payload.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { errorText } from '../../../base/error-text.js';
import { assertNever } from '../../../base/assert-never.js';
import type { Logger } from '../../../base/logger.js';
import { monotonicClock } from '../../../base/monotonic-clock.js';
import { LockKeeper, type LockMetrics, renewEveryMs } from '../../lock-keeper.js';
import type { LockKind, ThreadLocks } from '../../lock-thread.js';
import type { Renewal, Result } from '../../provider.js';
import { openClient } from '../open-client.js';
import { openProvider, type ProviderParts } from '../open-provider.js';
import { renewOrchestrationItemLocks } from '../operations/renew-orchestration-item-locks.js';
import { renewWorkItemLocks } from '../operations/renew-work-item-locks.js';
import { renewSessionLock } from '../operations/sessions.js';
import type { FromThread, LockThreadData, ToThread } from './messages.js';
import { PasswordLine } from './password-line.js';

/** How often it is looked whether the event loop lives. */
const SILENCE_CHECK_MS = 1_000;
/** Longest interval of a timer. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;

const port = parentPort;
if (port === null) throw new Error('this file is the program of a thread, and no program of its own');
const data = workerData as LockThreadData;
const say = (message: FromThread) => port.postMessage(message);

const logger: Logger = {
  debug() {},
  info: (fields, message) => log('info', fields, message),
  warn: (fields, message) => log('warn', fields, message),
  error: (fields, message) => log('error', fields, message),
};

function log(level: 'info' | 'warn' | 'error', fields: Readonly<Record<string, unknown>>, message: string): void {
  // Plain data: an error's own class does not survive the way.
  say({ say: 'log', level, fields: JSON.parse(JSON.stringify({ ...fields, thread: 'locks' })) as typeof fields, message });
}

const metrics: LockMetrics = { locksLost: 0, lateRenewals: 0 };

/** Messages come from the first moment on; they are handled when the connection is there. */
class Mailbox {
  lastHeardMs = monotonicClock.nowMs();
  private readonly early: ToThread[] = [];
  private handle: ((message: ToThread) => void) | undefined;

  put(message: ToThread): void {
    this.lastHeardMs = monotonicClock.nowMs();
    if (this.handle) this.handle(message);
    else this.early.push(message);
  }

  open(handle: (message: ToThread) => void): void {
    this.handle = handle;
    for (const message of this.early.splice(0)) handle(message);
  }
}

/** The loops of the thread. */
class LockRenewer {
  private readonly keepers: { readonly [Kind in LockKind]: LockKeeper<ThreadLocks[Kind]> };
  private readonly timers: NodeJS.Timeout[];
  private isDeaf = false;
  private sessionsInUse = false;

  constructor(
    private readonly provider: ProviderParts,
    private readonly mailbox: Mailbox,
  ) {
    const { ctx } = provider;
    this.keepers = {
      orchestration: newKeeper('orchestration', 'orchestration', (locks) => renewOrchestrationItemLocks(ctx, locks)),
      work: newKeeper('work', 'activity', (locks) => renewWorkItemLocks(ctx, locks)),
    };
    const { lockTimeoutMs, renewalBufferMs } = data.sessions;
    const sessionsEveryMs = Math.min(renewEveryMs(lockTimeoutMs, renewalBufferMs), MAX_INTERVAL_MS);
    const lookEveryMs = Math.min(SILENCE_CHECK_MS, Math.ceil(data.maxSilenceMs / 4));
    this.timers = [
      setInterval(() => void this.renewSessions(), sessionsEveryMs),
      setInterval(() => this.checkSilence(), lookEveryMs),
    ];
  }

  handle(message: ToThread): void {
    if (this.isDeaf) {
      this.isDeaf = false;
      logger.warn({}, 'the event loop answers again; locks that it takes from now on are renewed');
    }
    switch (message.say) {
      case 'alive':
      case 'password':
      case 'no password':
        return;
      case 'hold': {
        const { kind, lock, ageMs } = message;
        const onLost = () => say({ say: 'lost', kind, lockToken: lock.lockToken });
        const takenAtMs = monotonicClock.nowMs() - ageMs;
        if (kind === 'work') this.keepers.work.hold(message.lock, takenAtMs, onLost);
        else this.keepers.orchestration.hold(message.lock, takenAtMs, onLost);
        return;
      }
      case 'release':
        return this.keepers[message.kind].release({ instance: '', lockToken: message.lockToken });
      case 'sessions':
        this.sessionsInUse = message.inUse;
        return;
      case 'close':
        return void this.close();
      default:
        return assertNever(message, 'message to the lock thread');
    }
  }

  private async renewSessions(): Promise<void> {
    if (!this.sessionsInUse || this.isDeaf) return;
    const { ownerId, lockTimeoutMs, idleTimeoutMs } = data.sessions;
    try {
      await renewSessionLock(this.provider.ctx, { ownerIds: [ownerId], extendMs: lockTimeoutMs, idleTimeoutMs });
    } catch (error) {
      logger.warn({ reason: errorText(error) }, 'renewing session locks failed');
    }
  }

  /** A process that hangs for ever must not keep its work for ever. */
  private checkSilence(): void {
    const silentMs = monotonicClock.nowMs() - this.mailbox.lastHeardMs;
    if (this.isDeaf || silentMs <= data.maxSilenceMs) return;
    this.isDeaf = true;
    const { orchestration, work } = this.keepers;
    logger.error(
      { silentMs, held: orchestration.size + work.size },
      'the event loop has not answered for too long: its locks are no longer renewed',
    );
    orchestration.loseAll();
    work.loseAll();
  }

  private async close(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.keepers.orchestration.clear();
    this.keepers.work.clear();
    await this.provider.close();
    port?.close();
  }
}

function newKeeper<Kind extends LockKind>(
  kind: Kind,
  what: string,
  renew: (locks: readonly (ThreadLocks[Kind] & Renewal)[]) => Promise<readonly Result[]>,
): LockKeeper<ThreadLocks[Kind]> {
  const { lockTimeoutMs, renewalBufferMs } = data.timings[kind];
  return new LockKeeper<ThreadLocks[Kind]>({
    what,
    lockTimeoutMs,
    renewalBufferMs,
    clock: monotonicClock,
    logger,
    metrics: () => metrics,
    renew: (locks) => renew(locks.map((lock) => ({ ...lock, extendMs: lockTimeoutMs }))),
  });
}

async function main(): Promise<void> {
  const passwords = new PasswordLine(() => say({ say: 'password?' }));
  const mailbox = new Mailbox();
  port?.on('message', (message: ToThread) => {
    if (message.say === 'password') passwords.answer(message.password);
    else if (message.say === 'no password') passwords.refuse(message.reason);
    mailbox.put(message);
  });
  const { driver, options, namedStatements, schema } = data;
  const password = data.asksForPassword ? () => passwords.ask() : undefined;
  // Renewals of both kinds and of sessions, and the clock, may fall together: one waits for the other.
  // They are rarer than the idle time-out of a pool.
  const client = await openClient({ driver, options, password, purpose: 'locks', idleTimeoutS: 0 });
  // The event loop's side has migrated the schema and judged it already.
  const own = { migrate: false, allowNewer: true, notifications: false, ownsClient: true };
  const provider = await openProvider({ $client: client }, { schema, namedStatements, logger, ...own });
  const renewer = new LockRenewer(provider, mailbox);
  mailbox.open((message) => renewer.handle(message));
  say({ say: 'ready' });
}

main().catch((error: unknown) => {
  // Ends the thread, and tells whoever started it.
  setImmediate(() => {
    throw error;
  });
});

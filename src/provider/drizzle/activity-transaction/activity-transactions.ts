import { sql } from 'drizzle-orm';
import type {
  ActivityTransaction,
  ActivityTransactionOutcome,
  ActivityTransactions,
} from '../../activity-transactions.js';
import type { WorkItem } from '../../../wire/work-item.js';
import type { Ms, TransactionScope, WorkItemLock } from '../../provider.js';
import { ProviderError, TransactionControlError, TransactionEndedError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { CommitUnknownError, leavesCommitOpen, markConnectionError, serverErrorOf } from '../drivers/connection-errors.js';
import type { AnyDrizzle } from '../drivers/generic.js';
import type { DrizzleDatabase } from '../drivers/index.js';
import type { ScopeExecutor } from '../executor.js';
import { compile, noRow, textCell } from '../statement.js';
import { runStatement } from '../transaction.js';
import { toProviderError } from '../to-provider-error.js';
import { applicationDatabase } from './application-database.js';
import { type GuardableTransaction, TransactionGuard } from './guarded-transaction.js';
import { Slots } from './slots.js';

const OPERATION = 'complete_in_transaction';
/** Connections of a pool that are left to the runtime, so that its locks are renewed whatever the activities do. */
const CONNECTIONS_LEFT = 2;
/** Where nothing can be renewed during the transaction, the lock is extended by so much behind it. */
const EXTENSION_MS: Ms = 30_000;

/** How long the rollback of an abandoned transaction may take. */
const ROLLBACK_TIMEOUT_MS: Ms = 5_000;

/** SQLSTATEs after which the same statements may succeed: serialization failure, deadlock. */
const CONFLICT = /^(40001|40P01)$/;
/** A statement after a failed one in the same transaction. */
const ABORTED = '25P02';
/** The server hung up, or is about to. */
const GONE = /^(08|57P)/;

/** What went wrong inside of the transaction, before its COMMIT. */
type Failure = Exclude<ActivityTransactionOutcome, { readonly kind: 'committed' | 'unknown' }>;

/** Thrown inside of the transaction so that Drizzle rolls it back. */
class RollBack extends Error {
  constructor(readonly failure: Failure) {
    super('rolled back');
  }
}

export interface ActivityTransactionParts {
  readonly ctx: ProviderContext;
  /** What the provider was opened on. */
  readonly db: DrizzleDatabase;
  /** A scope whose acknowledgements notify nobody. @throws UnsupportedError */
  readonly scopeOf: (tx: unknown) => TransactionScope;
}

/** {@link ActivityTransactions} on a Drizzle database. */
export class DrizzleActivityTransactions implements ActivityTransactions {
  readonly runsAlone: boolean;
  private readonly slots: Slots;
  private database: Promise<AnyDrizzle> | undefined;

  constructor(private readonly parts: ActivityTransactionParts) {
    const { driver } = parts.ctx;
    this.runsAlone = !driver.canOpenSecondConnection;
    this.slots = new Slots(Math.max(1, (driver.maxConnections ?? Infinity) - CONNECTIONS_LEFT));
  }

  refuseInside(operation: string): void {
    this.parts.ctx.heldConnection.refuseHolder(operation);
  }

  async run(activity: ActivityTransaction): Promise<ActivityTransactionOutcome> {
    const leave = await this.slots.enter();
    try {
      const outcome = await this.perform(activity);
      if (outcome.kind === 'committed') this.parts.ctx.wake('orchestrator');
      // Nobody could renew the lock meanwhile; as long as its token stands, nobody has taken it either.
      else if (this.runsAlone && outcome.kind !== 'lost') await this.extendLock(activity.lock);
      return outcome;
    } finally {
      leave();
    }
  }

  private async perform(activity: ActivityTransaction): Promise<ActivityTransactionOutcome> {
    let inside: Promise<void> | undefined;
    let isDone = false;
    let isOver = false;
    const work = async (tx: GuardableTransaction) => {
      await this.performIn(tx, activity, () => isOver);
      isDone = true;
    };
    try {
      await this.withDatabase((db) => {
        const ended = transactionOf(db, activity, (tx) => {
          inside = work(tx);
          // With postgres-js a lost connection ends the transaction before its callback. What
          // would be sent after that would go to a socket that is gone.
          return new Promise<void>((resolve, reject) => {
            onAbandoned(activity, () => isOver || reject(new RollBack({ kind: 'lost' })));
            (inside as Promise<void>).then(
              () => isOver || resolve(),
              (error: Error) => setImmediate(() => isOver || reject(error)),
            );
          });
        });
        const noteEnd = () => (isOver = true);
        ended.then(noteEnd, noteEnd);
        return orSilence(ended, activity);
      });
      return { kind: 'committed' };
    } catch (error) {
      // Nobody waits for a handler that may never end.
      if (activity.abandoned?.aborted && !isDone) return { kind: 'lost' };
      // The handler may run on, and its failure says more than the end of the connection.
      const [insideError] = await Promise.all([inside?.then(() => undefined, asIs)]);
      if (isDone) return afterCommit(error);
      if (insideError instanceof RollBack) return insideError.failure;
      return { kind: 'unavailable', error: asUnavailable(insideError ?? error) };
    }
  }

  private async performIn(tx: GuardableTransaction, activity: ActivityTransaction, isOver: () => boolean) {
    const guard = new TransactionGuard(activity.what);
    onAbandoned(activity, () => guard.close());
    try {
      const scope = this.parts.scopeOf(tx);
      guard.protect(tx);
      const { heldConnection } = this.parts.ctx;
      const use = () => activity.use(tx, scope);
      const completion = await (this.runsAlone ? heldConnection.hold(use) : use());
      guard.close();
      if (!(await this.complete(tx, scope, activity, completion))) throw new RollBack({ kind: 'lost' });
    } catch (error) {
      guard.close();
      if (error instanceof RollBack) throw error;
      throw new RollBack(await this.failureOf(error, { tx, guard, activity, isOver }));
    }
  }

  /** The handler is done: what our own statements fail of, such as a time-out, is no failure of the activity. */
  private async complete(
    tx: GuardableTransaction,
    scope: TransactionScope,
    { lock }: ActivityTransaction,
    completion: WorkItem,
  ): Promise<boolean> {
    try {
      await this.extendIn(tx, lock);
      const [isAcked = false] = await scope.ackWorkItems([{ ...lock, completion }]);
      return isAcked;
    } catch (error) {
      const known = toProviderError(OPERATION, error);
      const isConflict = CONFLICT.test(serverErrorOf(error)?.code ?? '');
      throw known.retryable && !isConflict ? new RollBack({ kind: 'unavailable', error: known }) : error;
    }
  }

  /** On the only connection: no renewal came through, and the token alone tells whether the lock is still ours. */
  private async extendIn(tx: GuardableTransaction, lock: WorkItemLock): Promise<void> {
    if (!this.runsAlone) return;
    await this.executorOn(tx).run(this.extension(), this.extensionValues(lock));
  }

  private async extendLock(lock: WorkItemLock): Promise<void> {
    const { ctx } = this.parts;
    await runStatement(ctx, OPERATION, this.extension(), () => this.extensionValues(lock)).catch((error: unknown) => {
      // Then the lock runs out, and the activity is run again.
      ctx.logger.warn({ instance: lock.instance, error }, 'the lock of a transactional activity was not extended');
    });
  }

  private extension() {
    const { ctx } = this.parts;
    return ctx.statement(
      'activity transaction: extend',
      () => sql`update ${ctx.tables.workerQueue} set locked_until = greatest(locked_until, ${sql.placeholder('until')}::bigint)
        where lock_token = ${sql.placeholder('token')}`,
      noRow,
    );
  }

  private extensionValues({ lockToken }: WorkItemLock) {
    return { until: this.parts.ctx.clock.nowMs() + EXTENSION_MS, token: lockToken };
  }

  private async failureOf(
    error: unknown,
    { tx, guard, activity, isOver }: FailedTransaction,
  ): Promise<Failure> {
    const code = serverErrorOf(error)?.code;
    // What is said after the first error are consequences; the handler may have caught the first one.
    const cause = code === ABORTED || code === undefined ? (guard.firstError ?? error) : error;
    const causeCode = serverErrorOf(cause)?.code ?? '';
    if (CONFLICT.test(causeCode)) return { kind: 'conflict', error: cause };
    if (GONE.test(causeCode) || !(await this.isAlive(tx, isOver))) {
      return { kind: 'unavailable', error: asUnavailable(error) };
    }
    if (error instanceof TransactionEndedError) {
      return { kind: 'thrown', error: new TransactionControlError(activity.what, 'ending the transaction by hand') };
    }
    if (code === ABORTED) return { kind: 'thrown', error: swallowed(activity.what, cause) };
    return { kind: 'thrown', error };
  }

  /** A failure without an answer of the server's may be the handler's own, or the end of the connection. */
  private async isAlive(tx: GuardableTransaction, isOver: () => boolean): Promise<boolean> {
    // A statement fails a moment before the driver knows that its connection has.
    await new Promise((resolve) => setImmediate(resolve));
    if (isOver()) return false;
    try {
      await this.executorOn(tx).run(probe);
      return true;
    } catch (error) {
      return serverErrorOf(error) !== undefined && !GONE.test(serverErrorOf(error)?.code ?? '');
    }
  }

  private executorOn(tx: GuardableTransaction): ScopeExecutor {
    const executor = this.parts.ctx.driver.scopeOf(tx);
    if (!executor) throw new Error('the transaction is none of the driver of this provider');
    return executor;
  }

  private async withDatabase(use: (db: AnyDrizzle) => Promise<unknown>): Promise<void> {
    const { ctx, db } = this.parts;
    this.database ??= applicationDatabase(db, ctx.driver);
    const database = await this.database;
    ctx.identity.trust(database);
    await (ctx.driver.lendTo ? ctx.driver.lendTo(database, use) : use(database));
  }
}

interface FailedTransaction {
  readonly tx: GuardableTransaction;
  readonly guard: TransactionGuard;
  readonly activity: ActivityTransaction;
  readonly isOver: () => boolean;
}

const probe = compile(sql`select 1::text`, ([one]) => textCell(one));

function transactionOf(
  db: AnyDrizzle,
  { isolationLevel = 'read committed' }: ActivityTransaction,
  use: (tx: GuardableTransaction) => Promise<void>,
): Promise<unknown> {
  const begin = db.transaction.bind(db) as (
    use: (tx: GuardableTransaction) => Promise<void>,
    config: { readonly isolationLevel: string },
  ) => Promise<unknown>;
  return begin(use, { isolationLevel });
}

function onAbandoned({ abandoned }: ActivityTransaction, act: () => void): void {
  if (abandoned?.aborted) act();
  else abandoned?.addEventListener('abort', act, { once: true });
}

/**
 * How an abandoned transaction ends; if a statement of its handler still keeps it from rolling
 * back after a while, the connection counts as lost, and is closed.
 */
function orSilence(ended: Promise<unknown>, activity: ActivityTransaction): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let hasEnded = false;
    onAbandoned(activity, () => {
      if (hasEnded) return;
      const closed = new Error(`${activity.what}: its statement outlasted it, and its connection is closed`);
      timer = setTimeout(() => reject(markConnectionError(closed)), ROLLBACK_TIMEOUT_MS);
    });
    const noteEnd = () => {
      hasEnded = true;
      clearTimeout(timer);
    };
    ended.then(noteEnd, noteEnd);
    ended.then(resolve, reject);
  });
}

/** COMMIT was sent; the server may have refused it. */
function afterCommit(error: unknown): ActivityTransactionOutcome {
  const fromServer = serverErrorOf(error);
  if (!fromServer || leavesCommitOpen(fromServer)) {
    return { kind: 'unknown', error: toProviderError(OPERATION, new CommitUnknownError(error)) };
  }
  if (CONFLICT.test(fromServer.code)) return { kind: 'conflict', error: fromServer };
  const known = toProviderError(OPERATION, fromServer);
  // A full disk, say; or a constraint that is checked at the end, which is the activity's own.
  return known.retryable ? { kind: 'unavailable', error: known } : { kind: 'thrown', error: fromServer };
}

function asUnavailable(error: unknown): ProviderError {
  const known = toProviderError(OPERATION, error);
  if (known.retryable) return known;
  return ProviderError.retryable(OPERATION, `no transaction: ${known.reason}`, { cause: error });
}

function swallowed(what: string, cause: unknown): Error {
  return new Error(
    `${what}: a statement failed and its error was caught, but PostgreSQL has aborted the transaction by then; put ` +
      'what may fail into tx.transaction(…)',
    { cause },
  );
}

function asIs(error: unknown): unknown {
  return error;
}

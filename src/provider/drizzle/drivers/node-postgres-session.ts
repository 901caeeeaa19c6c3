import { ScopeEndedError, type SqlValues, type Transaction, type TransactionOptions } from '../executor.js';
import type { Cell, Statement } from '../statement.js';
import {
  CommitUnknownError,
  isConnectionError,
  leavesCommitOpen,
  markConnectionError,
  serverErrorOf,
} from './connection-errors.js';
import type { AnswerWatch } from './answer-watch.js';
import type { BatchClass, BatchOptions, BatchOutcome, BatchPart, PartResult, SendGuard } from './node-postgres-batch.js';
import type { PgClient } from './node-postgres-client.js';
import { isList, parameterText } from './parameter-text.js';
import type { StatementNames } from './statement-names.js';
import { textArrayBytes } from './text-array-bytes.js';

/** Prepared like the others: parsing them anew for each transaction costs more than running them. */
const BEGIN = withoutRows('ddz_begin', 'BEGIN ISOLATION LEVEL READ COMMITTED');
const COMMIT = withoutRows('ddz_commit', 'COMMIT');
/**
 * Our statements are prepared once and run with every size of array. Left alone, the
 * server plans those with small arrays anew each time, which costs more than running them.
 * A plan that is kept must not depend on how full the tables were when it was made: one
 * made on empty tables would scan them whole until the first ANALYZE. Every statement
 * in a transaction of ours finds its rows by key, so only such plans are allowed; and only
 * plain index scans, because bitmap scans never forget the dead entries that queues leave.
 */
const KEPT_PLANS = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
] as const;
const SETTINGS = settings('ddz_settings', KEPT_PLANS);
const SETTINGS_OF_CLAIMS = settings('ddz_settings_of_claims', [...KEPT_PLANS, ['synchronous_commit', 'off']]);

export interface SessionOptions {
  readonly client: PgClient;
  readonly Batch: BatchClass;
  readonly names: StatementNames;
  readonly guard?: SendGuard | undefined;
  /** Told of what is sent, to find connections that never answer. */
  readonly watch?: AnswerWatch | undefined;
}

/** Issues statements on a client at once, each with a Sync of its own. */
export class PgSession {
  constructor(protected readonly options: SessionOptions) {}

  // An async function runs up to its first await in the tick of the call.
  async run<Row>(statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> {
    const [result] = await this.send([this.partOf(statement, values)]);
    return decodeRows(statement, result);
  }

  async script(sql: string): Promise<void> {
    try {
      await this.options.client.query(sql);
    } catch (error) {
      throw markConnectionError(error);
    }
  }

  protected partOf(statement: Statement<unknown>, values: SqlValues): BatchPart {
    return partOf(this.options.names, statement, values);
  }

  private async send(parts: readonly BatchPart[]): Promise<readonly PartResult[]> {
    const { results, error } = await sendBatch(this.options, parts);
    if (error) throw error;
    return results;
  }
}

/** A statement that waits for the next batch. */
interface Pending {
  readonly part: BatchPart;
  readonly resolve: (result: PartResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A transaction on a client that is ours until its end. Statements issued in one tick,
 * or while an answer is awaited, travel together.
 */
export class PgTransaction extends PgSession implements Transaction {
  private pending: Pending[] = [];
  private flushing: Promise<void> | undefined;
  private begun = false;
  private over = false;
  /** The first failure of any statement: what comes after it are consequences. */
  private firstError: Error | undefined;
  private commit: Promise<PartResult> | undefined;
  /** Set when ROLLBACK was not possible: the client must not go back to its pool. */
  rollbackError: Error | undefined;
  private readonly beginPart: BatchPart;
  private readonly settingsPart: BatchPart;
  private readonly commitPart: BatchPart;

  constructor(options: SessionOptions, { mayBeLost = false }: TransactionOptions = {}) {
    super(options);
    this.beginPart = this.partOf(BEGIN, {});
    this.settingsPart = this.partOf(mayBeLost ? SETTINGS_OF_CLAIMS : SETTINGS, {});
    this.commitPart = this.partOf(COMMIT, {});
  }

  /** Runs `use` and commits. @throws the first error of the transaction, or what `use` threw */
  async perform<T>(use: (tx: Transaction) => Promise<T>): Promise<T> {
    let value: T;
    try {
      value = await use(this);
    } catch (error) {
      this.over = true;
      await this.rollback();
      // A driver's error is at best the first one and at worst `25P02`; an error of the caller's stands.
      const isConsequence = serverErrorOf(error) !== undefined || this.firstError === undefined;
      throw isConsequence ? (this.firstError ?? error) : error;
    }
    this.over = true;
    try {
      if (this.begun || this.pending.length > 0) await this.finish();
    } catch (error) {
      await this.rollback();
      throw error;
    }
    return value;
  }

  override run<Row>(statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> {
    const rows = this.runInBatch(statement, values);
    // Whoever does not look at a failure meets it again at the commit.
    rows.catch(() => {});
    return rows;
  }

  runLast<Row>(statement: Statement<Row>, values: SqlValues = {}): Promise<Row[]> {
    const rows = this.run(statement, values);
    if (!this.over && !this.commit) this.enqueueCommit();
    return rows;
  }

  override async script(sql: string): Promise<void> {
    if (this.over || this.commit) throw new Error('this transaction is over');
    if (!this.begun && this.pending.length === 0) await this.enqueue(this.beginPart);
    while (this.flushing) await this.flushing;
    if (this.firstError) throw this.firstError;
    try {
      await super.script(sql);
    } catch (error) {
      this.firstError ??= error as Error;
      throw error;
    }
  }

  private async runInBatch<Row>(statement: Statement<Row>, values: SqlValues): Promise<Row[]> {
    if (this.over || this.commit) throw new Error('this transaction is over');
    return decodeRows(statement, await this.enqueue(this.partOf(statement, values)));
  }

  private enqueueCommit(): void {
    this.commit = this.enqueue(this.commitPart);
    this.commit.catch(() => {});
  }

  private async finish(): Promise<void> {
    if (!this.commit) this.enqueueCommit();
    const answer = await this.commit;
    if (answer?.command === 'COMMIT') return;
    throw this.firstError ?? new Error('the server rolled the transaction back');
  }

  private enqueue(part: BatchPart): Promise<PartResult> {
    if (this.firstError) return Promise.reject(this.firstError);
    const answer = new Promise<PartResult>((resolve, reject) => this.pending.push({ part, resolve, reject }));
    // By microtask: all that the caller issues in this tick goes into the same batch.
    this.flushing ??= Promise.resolve().then(() => this.flush());
    return answer;
  }

  private async flush(): Promise<void> {
    while (this.pending.length > 0) {
      const batch = this.pending;
      this.pending = [];
      if (!this.begun && batch[0]?.part !== this.beginPart) batch.unshift(unasked(this.beginPart), unasked(this.settingsPart));
      this.begun = true;
      await this.exchange(batch);
    }
    this.flushing = undefined;
  }

  private async exchange(batch: readonly Pending[]): Promise<void> {
    const { results, error, sent } = await sendBatch(
      this.options,
      batch.map(({ part }) => part),
    );
    results.forEach((result, index) => batch[index]?.resolve(result));
    if (!error) return;
    this.firstError ??= this.isCommitOpen(batch, results.length, error, sent) ? new CommitUnknownError(error) : error;
    for (const { reject } of batch.slice(results.length)) reject(this.firstError);
    for (const { reject } of this.pending.splice(0)) reject(this.firstError);
  }

  /** Whether COMMIT may have been carried out although `error` is all we got. */
  private isCommitOpen(batch: readonly Pending[], done: number, error: Error, sent: boolean): boolean {
    const commitAt = batch.findIndex(({ part }) => part === this.commitPart);
    if (commitAt < 0 || !sent) return false;
    const fromServer = serverErrorOf(error);
    // An answer to an earlier statement: the server skipped the COMMIT.
    return fromServer === undefined || (done === commitAt && leavesCommitOpen(fromServer));
  }

  private async rollback(): Promise<void> {
    while (this.flushing) await this.flushing;
    if (!this.begun) return;
    if (isConnectionError(this.firstError)) {
      this.rollbackError = this.firstError;
      return;
    }
    const { error } = await sendBatch(this.options, [{ text: 'ROLLBACK', name: undefined, values: [] }]);
    if (error) this.rollbackError = error;
  }
}

function settings(name: string, values: readonly (readonly [string, string])[]): Statement<void> {
  const calls = values.map(([setting, value]) => `set_config('${setting}', '${value}', true)`);
  return withoutRows(name, `select ${calls.join(', ')}`);
}

/** A statement without parameters whose answer nobody needs. */
function withoutRows(name: string, text: string): Statement<void> {
  return { name, text, bind: () => [], decode: () => {} };
}

/** A statement of our own, whose failure is the failure of those behind it. */
function unasked(part: BatchPart): Pending {
  return { part, resolve: () => {}, reject: () => {} };
}

export function partOf(names: StatementNames, statement: Statement<unknown>, values: SqlValues): BatchPart {
  const { text, textArrays } = statement;
  const parameters = statement
    .bind(values)
    .map((value, index) => (textArrays?.has(index) && isList(value) ? textArrayBytes(value) : parameterText(value)));
  return { text, name: names.nameOf(statement), values: parameters };
}

/** What the server made of the parts; an error is marked where it means that the connection is lost. */
export async function sendBatch(
  { client, Batch, names, guard, watch }: SessionOptions,
  parts: readonly BatchPart[],
  { gathers }: Pick<BatchOptions, 'gathers'> = {},
): Promise<BatchOutcome> {
  const batch = new Batch(parts, { guard, gathers });
  client.query(batch);
  const answered = watch?.begin(client);
  const outcome = await batch.outcome;
  answered?.();
  if (!outcome.error || outcome.error instanceof ScopeEndedError) return outcome;
  names.learn(outcome.error, parts[outcome.results.length]?.name);
  return { ...outcome, error: markConnectionError(outcome.error) };
}

export function decodeRows<Row>(statement: Statement<Row>, result: PartResult | undefined): Row[] {
  return (result?.rows ?? []).map((cells: readonly Cell[]) => statement.decode(cells));
}

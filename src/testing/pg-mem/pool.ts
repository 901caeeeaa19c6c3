import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Parameter } from './parameters.js';
import { PgMemError } from './pg-mem-error.js';
import type { ResultSet } from './result-set.js';
import type { PgMemServer, TransactionStatus } from './server.js';

/** Where a query takes its type parsers from, as in node-postgres. */
export interface TypeParsers {
  getTypeParser(dataTypeID: number, format: 'text'): (text: string) => unknown;
}

/** The forms of a query that node-postgres takes. */
export type Query =
  | string
  | {
      readonly text: string;
      readonly values?: readonly Parameter[] | undefined;
      readonly name?: string | undefined;
      readonly rowMode?: 'array' | undefined;
      readonly types?: TypeParsers | undefined;
    };

/** A result of node-postgres. */
export interface PgMemResult {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: ResultSet['fields'];
  readonly rows: readonly unknown[];
}

/**
 * The part of node-postgres' `Pool` that Drizzle and applications use, with pg-mem
 * behind it. It has one connection: pg-mem knows one state of its data, which a
 * rollback restores for everybody, so transactions and single statements take turns.
 * Drizzle knows a pool by `Pool` in the name of its class.
 */
export class PgMemPool extends EventEmitter {
  readonly options = { max: 1 };
  private busy = false;
  private isEnded = false;
  private readonly waiting: (() => void)[] = [];

  constructor(
    readonly server: PgMemServer,
    /** Parsers for queries that bring none: those of the package `pg`. */
    private readonly types: TypeParsers,
  ) {
    super();
  }

  get totalCount(): number {
    return this.isEnded ? 0 : 1;
  }

  get idleCount(): number {
    return this.busy || this.isEnded ? 0 : 1;
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  get ended(): boolean {
    return this.isEnded;
  }

  /** Waits for its turn; give the client back with `release()`. */
  async connect(): Promise<PgMemClient> {
    this.refuseAfterEnd();
    if (this.busy) {
      // Whoever releases leaves `busy` set for the one it wakes.
      await new Promise<void>((resolve) => this.waiting.push(resolve));
      if (this.isEnded) {
        this.next();
        this.refuseAfterEnd();
      }
    }
    this.busy = true;
    return new PgMemClient(this.server, this.types, () => this.next());
  }

  async query(query: Query, values?: readonly Parameter[]): Promise<PgMemResult> {
    const client = await this.connect();
    try {
      return await client.query(query, values);
    } finally {
      client.release();
    }
  }

  /** Refuses whoever comes later, and whoever waits. The data stays until the pool is garbage. */
  async end(): Promise<void> {
    this.isEnded = true;
    if (!this.busy) this.next();
  }

  private next(): void {
    const wake = this.waiting.shift();
    if (wake) wake();
    else this.busy = false;
  }

  private refuseAfterEnd(): void {
    if (this.isEnded) throw new Error('Cannot use a pool after calling end on the pool');
  }
}

/** A turn at the one connection, in the shape of node-postgres' pooled client. */
export class PgMemClient extends EventEmitter {
  private released = false;

  constructor(
    private readonly server: PgMemServer,
    private readonly types: TypeParsers,
    private readonly giveBack: () => void,
  ) {
    super();
  }

  /** `I` also after the release: whatever this client began is over then. */
  getTransactionStatus(): TransactionStatus {
    return this.released ? 'I' : this.server.status;
  }

  /** Runs in the tick of the call; the answer comes later, as from a server. */
  async query(query: Query, values?: readonly Parameter[]): Promise<PgMemResult> {
    const config = typeof query === 'string' ? { text: query } : query;
    const outcome = this.run(config.text, values ?? config.values ?? []);
    // Not a microtask: a caller that only ever awaits queries must not starve timers.
    await nextTurn();
    if (outcome instanceof Error) throw outcome;
    return parseResult(outcome, config.types ?? this.types, config.rowMode);
  }

  release(): void {
    if (this.released) throw new Error('Release called on client which has already been released to the pool.');
    this.released = true;
    // What a broken connection leaves open the server rolls back, and so does an evicting pool.
    this.server.abortTransaction();
    this.giveBack();
  }

  private run(text: string, values: readonly Parameter[]): ResultSet | Error {
    if (this.released) return new Error('Client was closed and is not queryable');
    try {
      return this.server.execute(text, values);
    } catch (error) {
      return PgMemError.from(error);
    }
  }
}

function parseResult(
  { command, rowCount, fields, rows }: ResultSet,
  types: TypeParsers,
  rowMode: 'array' | undefined,
): PgMemResult {
  const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'));
  const parsed = rows.map((row) => row.map((cell, i) => (cell === null ? null : parsers[i]?.(cell))));
  if (rowMode === 'array') return { command, rowCount, fields, rows: parsed };
  return {
    command,
    rowCount,
    fields,
    rows: parsed.map((row) => Object.fromEntries(fields.map(({ name }, i) => [name, row[i]]))),
  };
}

import type { Cell } from '../statement.js';

/** One statement of a batch, ready for the wire. */
export interface BatchPart {
  readonly text: string;
  readonly name: string | undefined;
  /** Texts, and bytes of what travels in binary form. */
  readonly values: readonly ParameterValue[];
}

export type ParameterValue = string | Buffer | null;

export interface PartResult {
  readonly rows: readonly (readonly Cell[])[];
  /** The first word of the command tag, such as `COMMIT`. */
  readonly command: string;
}

export interface BatchOutcome {
  /** Of the parts that the server finished. */
  readonly results: readonly PartResult[];
  /** Of the part after them; what follows it was not executed. */
  readonly error?: Error;
  /** Whether the parts were handed to the socket at all. */
  readonly sent: boolean;
}

/** What `submit` writes to: the part of node-postgres' connection that its other query classes use as well. */
interface Connection {
  readonly stream: { cork?(): void; uncork?(): void };
  readonly parsedStatements: Record<string, string | undefined>;
  /** Since pg 8.23. */
  readonly submittedNamedStatements?: Record<string, string | undefined>;
  parse(message: { text: string; name: string; types: readonly number[] }): void;
  bind(message: { portal: string; statement: string; values: readonly ParameterValue[]; binary: boolean }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

/** `pg.Query`, as the client's class carries it. */
export type QueryClass = new (config: object) => object;

/** A query object of node-postgres that carries several statements. */
export interface Batch {
  readonly outcome: Promise<BatchOutcome>;
}

/** Asked just before a batch is written; an error keeps it from being sent. */
export type SendGuard = () => Error | null;

export interface BatchOptions {
  readonly guard?: SendGuard | undefined;
  /**
   * Takes the client in the tick of the call and writes a microtask later: until then its list
   * of parts may grow. Not in pipeline mode, where what follows is written at once.
   */
  readonly gathers?: boolean | undefined;
}

export type BatchClass = new (parts: readonly BatchPart[], options?: BatchOptions) => Batch;

const classes = new WeakMap<QueryClass, BatchClass>();

/**
 * The batch for a client of node-postgres: several statements between two Syncs. They
 * cost one round trip, and after an error the server skips the rest by itself, so
 * that BEGIN may travel with the first statement (which never runs outside its
 * transaction) and COMMIT with the last (which never commits half of it).
 *
 * node-postgres' own pipeline mode saves the same round trips, but sends a Sync after
 * each statement: what follows a failed BEGIN would be committed on its own. The batch
 * works in both modes, on pools that the application opened, too.
 *
 * It extends the client's own `Query`, because a client in pipeline mode takes
 * nothing else. Rows arrive as text: type parsers are not asked.
 */
export function batchClassOf(Query: QueryClass): BatchClass {
  let Batch = classes.get(Query);
  if (Batch === undefined) classes.set(Query, (Batch = makeBatchClass(Query)));
  return Batch;
}

function makeBatchClass(Query: QueryClass): BatchClass {
  return class DuroxideBatch extends Query implements Batch {
    // No name of a field may be one of Query's own; `rows`, for one, asks for a portal.
    readonly outcome: Promise<BatchOutcome>;
    /** What the client calls at the end; it wraps it when a read time-out is set. */
    callback: (error?: Error | null, results?: unknown) => void;
    private readonly finished: { rows: Cell[][]; command: string }[] = [];
    private openRows: Cell[][] = [];
    private sent = false;
    private failed = false;

    constructor(
      private readonly parts: readonly BatchPart[],
      private readonly options: BatchOptions = {},
    ) {
      super({ text: '' });
      let settle: (outcome: BatchOutcome) => void;
      this.outcome = new Promise((resolve) => (settle = resolve));
      this.callback = (error) => {
        settle({ results: this.finished, sent: this.sent, ...(error ? { error } : {}) });
      };
      // The client asks for both when the server has parsed a statement, and keeps them
      // with the connection. Own properties, whatever the super class makes of the names.
      const current = () => this.parts[this.finished.length];
      Object.defineProperty(this, 'name', { get: () => current()?.name, configurable: true });
      Object.defineProperty(this, 'text', { get: () => current()?.text, configurable: true });
    }

    submit(connection: Connection): Error | null {
      const refused = this.options.guard?.() ?? null;
      if (refused) return refused;
      if (this.options.gathers) queueMicrotask(() => this.write(connection));
      else this.write(connection);
      return null;
    }

    private write(connection: Connection): void {
      // The connection was lost between the two: the outcome is known already.
      if (this.failed) return;
      this.sent = true;
      connection.stream.cork?.();
      try {
        for (const part of this.parts) this.submitPart(connection, part);
        connection.sync();
      } finally {
        connection.stream.uncork?.();
      }
    }

    private submitPart(connection: Connection, { text, name, values }: BatchPart): void {
      const statement = name ?? '';
      if (name === undefined || !this.isParsed(connection, name)) {
        connection.parse({ text, name: statement, types: [] });
        if (name !== undefined) this.submitted(connection)[name] = text;
      }
      connection.bind({ portal: '', statement, values, binary: false });
      // Nobody asks for a description: the columns of each statement are known, and come as text.
      connection.execute({ portal: '', rows: 0 });
    }

    private isParsed(connection: Connection, name: string): boolean {
      return connection.parsedStatements[name] !== undefined || this.submitted(connection)[name] !== undefined;
    }

    /** Names on their way to the server; older clients have no such list, then it is the batch's own. */
    private submitted(connection: Connection): Record<string, string | undefined> {
      return connection.submittedNamedStatements ?? this.ownSubmitted;
    }
    private readonly ownSubmitted: Record<string, string | undefined> = {};

    handleRowDescription(): void {}

    handleDataRow({ fields }: { readonly fields: Cell[] }): void {
      this.openRows.push(fields);
    }

    handleCommandComplete({ text }: { readonly text: string }): void {
      const end = text.indexOf(' ');
      this.finished.push({ rows: this.openRows, command: end < 0 ? text : text.slice(0, end) });
      this.openRows = [];
    }

    handleEmptyQuery(): void {
      this.handleCommandComplete({ text: '' });
    }

    handlePortalSuspended(): void {}

    handleCopyInResponse(connection: Connection): void {
      connection.sendCopyFail('not supported');
    }

    handleCopyData(): void {}

    handleError(error: Error, connection: Connection): void {
      this.failed = true;
      // The server skips what follows: those statements are not prepared.
      for (const { name } of this.parts.slice(this.finished.length)) {
        if (name !== undefined) delete this.submitted(connection)[name];
      }
      this.callback(error);
    }

    handleReadyForQuery(): void {
      this.callback(null, this.finished);
    }
  };
}

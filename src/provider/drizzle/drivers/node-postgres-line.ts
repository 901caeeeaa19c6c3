import { ScopeEndedError } from '../executor.js';
import type { BatchOutcome, BatchPart, PartResult, SendGuard } from './node-postgres-batch.js';
import type { PgClient } from './node-postgres-client.js';

/** One transaction of somebody else's, as a client can tell it from those before and after it. */
interface TransactionMark {
  /** Another function for each time that a pool lends the client. */
  readonly release: unknown;
  /** How many transactions had ended on the connection. */
  readonly ended: number;
}

/** Hands a batch to the client in the tick of the call; its parts may grow until the next microtask. */
type SendBatch = (parts: readonly BatchPart[], guard: SendGuard) => Promise<BatchOutcome>;

interface Gathered {
  readonly mark: TransactionMark;
  readonly send: SendBatch;
  readonly parts: BatchPart[];
  readonly outcome: Promise<BatchOutcome>;
  readonly settle: (outcome: BatchOutcome) => void;
}

/**
 * The statements of all scopes on one client, of which the client sees one batch at a
 * time: node-postgres deprecates a query that is handed in while another is under way.
 *
 * What is issued in one tick travels together, and the client has it in that tick, so
 * that it stands before the COMMIT or ROLLBACK of a caller who awaits nothing. What is
 * issued while a batch is under way waits for its answer; if the transaction ends
 * meanwhile it is refused.
 */
export class ScopeLine {
  /** The batch of this tick, with the client already. */
  private fresh: Gathered | undefined;
  private isBusy = false;
  private readonly waiting: Gathered[] = [];
  private endedTransactions = 0;

  private constructor(private readonly client: PgClient) {
    // The client tells a status, but not that a transaction is another one by now.
    client.connection?.on?.('readyForQuery', ({ status } = {}) => {
      if (status === 'I') this.endedTransactions += 1;
    });
  }

  /** The line of a client; `undefined` where it needs none (pipeline mode), or cannot tell a transaction's end. */
  static of(client: PgClient): ScopeLine | undefined {
    const { connection } = client;
    if (client.pipeline || typeof client.getTransactionStatus !== 'function') return undefined;
    if (typeof connection?.on !== 'function') return undefined;
    let line = lines.get(connection);
    if (!line) lines.set(connection, (line = new ScopeLine(client)));
    return line;
  }

  /** Of the transaction that is open now. */
  mark(): TransactionMark {
    return { release: this.client.release, ended: this.endedTransactions };
  }

  /** Exact when a statement is handed to the socket, because all earlier ones are answered then. */
  isOpen(mark: TransactionMark): boolean {
    return this.client.getTransactionStatus?.() !== 'I' && isSame(mark, this.mark());
  }

  /** @throws ScopeEndedError when the transaction has ended; what the server says to the first statement that failed */
  async run(part: BatchPart, mark: TransactionMark, send: SendBatch): Promise<PartResult | undefined> {
    const last = this.fresh ?? this.waiting.at(-1);
    const batch = last && isSame(last.mark, mark) ? last : this.begin(mark, send);
    const index = batch.parts.push(part) - 1;
    const { results, error } = await batch.outcome;
    // After the first failure PostgreSQL runs nothing: what comes behind it shares its error.
    if (error && index >= results.length) throw error;
    return results[index];
  }

  private begin(mark: TransactionMark, send: SendBatch): Gathered {
    let settle: Gathered['settle'] = () => {};
    const outcome = new Promise<BatchOutcome>((resolve) => (settle = resolve));
    const batch = { mark, send, parts: [], outcome, settle };
    if (this.isBusy) {
      this.waiting.push(batch);
      return batch;
    }
    this.fresh = batch;
    // Before the microtask that writes the batch.
    queueMicrotask(() => (this.fresh = undefined));
    this.hand(batch);
    return batch;
  }

  private hand({ mark, send, parts, settle }: Gathered): void {
    this.isBusy = true;
    const goOn = (outcome: BatchOutcome) => {
      // Before whoever waits for the outcome comes with the next statement: that one goes out at once.
      this.isBusy = false;
      const next = this.waiting.shift();
      if (next) this.hand(next);
      settle(outcome);
    };
    const refuse = () => (this.isOpen(mark) ? null : new ScopeEndedError());
    const refused = refuse();
    // Not even queued: the client may be another's by now.
    const sent = refused ? Promise.reject(refused) : send(parts, refuse);
    sent.then(goOn, (error: Error) => goOn({ results: [], sent: false, error }));
  }
}

/** By connection: of a client there may be several views. */
const lines = new WeakMap<object, ScopeLine>();

function isSame(one: TransactionMark, other: TransactionMark): boolean {
  return one.release === other.release && one.ended === other.ended;
}

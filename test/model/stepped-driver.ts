import { createHash } from 'node:crypto';
import type { Driver, Executor, SqlValues, Transaction } from '../../src/provider/drizzle/executor.js';
import type { Cell, Statement } from '../../src/provider/drizzle/statement.js';

/** Changes the text of statements, to see that a store which does less is found out. */
export type Rewrite = (text: string) => string;

/**
 * A driver that asks before each statement and before each COMMIT, and says when it is
 * through. COMMIT is a step of its own here, also where the real driver sends it along.
 */
export class SteppedDriver {
  /** What waits to be let through, in the order in which it was issued. */
  private waiting: { readonly go: () => void; readonly giveUp: (error: Error) => void }[] = [];
  /** Statements let through that are not answered yet. */
  inFlight = 0;
  deadlocks = 0;
  /** A statement has failed; the server tells of that before it lets go of the locks. */
  isFailing = false;
  /** Of everything that was sent and answered since the last {@link reset}: equal logs, equal memory of the operation. */
  log = '';
  /** Random parts of the tokens that the operation made, in that order. */
  tokenPrefixes: string[] = [];
  private isGivenUp = false;
  private listener: (() => void) | undefined;

  constructor(
    private readonly real: Driver,
    private readonly rewrite: Rewrite = (text) => text,
  ) {}

  get pending(): number {
    return this.waiting.length;
  }

  /** For the next run; nothing may be under way. */
  reset(): void {
    if (this.inFlight + this.waiting.length > 0) throw new Error('a run has not ended');
    this.isGivenUp = false;
    this.deadlocks = 0;
    this.isFailing = false;
    this.log = '';
    this.tokenPrefixes = [];
  }

  /** Lets the next one through. */
  step(): void {
    const next = this.waiting.shift();
    if (!next) throw new Error('there is nothing to let through');
    this.inFlight += 1;
    next.go();
  }

  /** From now on every statement and COMMIT fails unsent, so that transactions are rolled back. */
  giveUp(): void {
    this.isGivenUp = true;
    for (const { giveUp } of this.waiting.splice(0)) giveUp(new RunGivenUpError());
  }

  /** Resolves when something was issued or answered after the call. */
  changed(): Promise<void> {
    return new Promise((resolve) => (this.listener = resolve));
  }

  readonly driver: Driver = {
    kind: 'node-postgres',
    canOpenSecondConnection: true,
    sendsBatches: true,
    withConnection: (use) => this.real.withConnection((executor) => use(this.executor(executor))),
    withTransaction: (use) =>
      this.real.withTransaction(async (tx) => {
        const result = await use(this.transaction(tx));
        await this.turn();
        this.note('commit');
        // COMMIT is sent when this function is through; its answer ends the operation or comes before the next statement.
        this.inFlight -= 1;
        return result;
      }),
    scopeOf: () => undefined,
    close: () => this.real.close(),
  };

  private executor(executor: Executor): Executor {
    return {
      run: (statement, values) => this.gated(statement, values, (rewritten) => executor.run(rewritten, values)),
      script: (sql) => executor.script(sql),
    };
  }

  private transaction(tx: Transaction): Transaction {
    const run = <Row>(statement: Statement<Row>, values?: SqlValues) =>
      this.gated(statement, values, (rewritten) => tx.run(rewritten, values));
    return { run, runLast: run, script: (sql) => tx.script(sql) };
  }

  private async gated<Row>(
    statement: Statement<Row>,
    values: SqlValues | undefined,
    send: (statement: Statement<Row>) => Promise<Row[]>,
  ): Promise<Row[]> {
    const { tokenPrefix } = values ?? {};
    if (typeof tokenPrefix === 'string' && !this.tokenPrefixes.includes(tokenPrefix)) {
      this.tokenPrefixes.push(tokenPrefix);
    }
    await this.turn();
    const text = this.rewrite(statement.text);
    const name = text === statement.text ? statement.name : `x${text.length}_${statement.name}`;
    const answered: Cell[][] = [];
    const decode = (cells: readonly Cell[]) => {
      answered.push([...cells]);
      return statement.decode(cells);
    };
    try {
      const rows = await send({ ...statement, text, name, decode });
      this.note(statement.name, values, answered);
      return rows;
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === '40P01') this.deadlocks += 1;
      this.isFailing = true;
      this.note(statement.name, values, String(code));
      throw error;
    } finally {
      this.inFlight -= 1;
      this.wake();
    }
  }

  private note(...what: unknown[]): void {
    let text = JSON.stringify(what);
    this.tokenPrefixes.forEach((prefix, index) => (text = text.replaceAll(prefix, `token${index}:`)));
    this.log = createHash('sha256').update(this.log).update(text).digest('base64');
  }

  private turn(): Promise<void> {
    return new Promise((go, giveUp) => {
      if (this.isGivenUp) return giveUp(new RunGivenUpError());
      this.waiting.push({ go, giveUp });
      this.wake();
    });
  }

  private wake(): void {
    this.listener?.();
    this.listener = undefined;
  }
}

/** The rest of a run was seen before. */
export class RunGivenUpError extends Error {
  override readonly name = 'RunGivenUpError';
}

import type { Driver, Executor, SqlValues, Transaction } from '../../src/provider/drizzle/executor.js';
import type { Statement } from '../../src/provider/drizzle/statement.js';

/** Changes the text of statements, to see that a store which does less is found out. */
export type Rewrite = (text: string) => string;

/**
 * A driver that asks before each statement and before each COMMIT, and says when it is
 * through. COMMIT is a step of its own here, also where the real driver sends it along.
 */
export class SteppedDriver {
  /** What waits to be let through, in the order in which it was issued. */
  private readonly waiting: { readonly what: string; readonly go: () => void }[] = [];
  /** Statements let through that are not answered yet. */
  inFlight = 0;
  deadlocks = 0;

  constructor(
    private readonly real: Driver,
    private readonly rewrite: Rewrite = (text) => text,
  ) {}

  get pending(): number {
    return this.waiting.length;
  }

  /** Lets the next one through. */
  step(): string {
    const next = this.waiting.shift();
    if (!next) throw new Error('there is nothing to let through');
    this.inFlight += 1;
    next.go();
    return next.what;
  }

  readonly driver: Driver = {
    kind: 'node-postgres',
    canOpenSecondConnection: true,
    sendsBatches: true,
    withConnection: (use) => this.real.withConnection((executor) => use(this.executor(executor))),
    withTransaction: (use) =>
      this.real.withTransaction(async (tx) => {
        const result = await use(this.transaction(tx));
        await this.turn('commit');
        // COMMIT is sent when this function is through; its answer ends the operation or comes before the next statement.
        this.inFlight -= 1;
        return result;
      }),
    scopeOf: () => undefined,
    close: () => this.real.close(),
  };

  private executor(executor: Executor): Executor {
    return {
      run: (statement, values) => this.gated(statement, (rewritten) => executor.run(rewritten, values)),
      script: (sql) => executor.script(sql),
    };
  }

  private transaction(tx: Transaction): Transaction {
    const run = <Row>(statement: Statement<Row>, values?: SqlValues) =>
      this.gated(statement, (rewritten) => tx.run(rewritten, values));
    return { run, runLast: run, script: (sql) => tx.script(sql) };
  }

  private async gated<Row>(
    statement: Statement<Row>,
    send: (statement: Statement<Row>) => Promise<Row[]>,
  ): Promise<Row[]> {
    await this.turn(statement.text.slice(0, 60));
    const text = this.rewrite(statement.text);
    try {
      return await send(
        text === statement.text ? statement : { ...statement, text, name: `x${text.length}_${statement.name}` },
      );
    } catch (error) {
      if ((error as { code?: unknown }).code === '40P01') this.deadlocks += 1;
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }

  private turn(what: string): Promise<void> {
    return new Promise((go) => this.waiting.push({ what, go }));
  }
}

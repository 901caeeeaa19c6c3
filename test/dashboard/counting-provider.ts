import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { Driver, Executor, Transaction } from '../../src/provider/drizzle/executor.js';
import type { ProviderParts } from '../../src/provider/drizzle/open-provider.js';

/** A provider that notes the statements it hands to its driver, BEGIN, SET and COMMIT not among them. */
export class CountingProvider extends DrizzleProvider {
  readonly sent: string[];

  protected constructor(parts: ProviderParts) {
    const sent: string[] = [];
    super({ ...parts, ctx: { ...parts.ctx, driver: noting(parts.ctx.driver, sent) } });
    this.sent = sent;
  }

  /** How many statements `use` sends. */
  async counted(use: () => Promise<unknown>): Promise<number> {
    this.sent.length = 0;
    await use();
    return this.sent.length;
  }
}

function noting(driver: Driver, sent: string[]): Driver {
  const ofExecutor = (executor: Executor): Executor => ({
    run: (statement, values) => {
      sent.push(statement.text);
      return executor.run(statement, values);
    },
    script: (text) => {
      if (!isSetting(text)) sent.push(text);
      return executor.script(text);
    },
  });
  const ofTransaction = (tx: Transaction): Transaction => ({
    ...ofExecutor(tx),
    runLast: (statement, values) => {
      sent.push(statement.text);
      return tx.runLast(statement, values);
    },
  });
  const runAlone = driver.runAlone?.bind(driver);
  const own: Pick<Driver, 'withConnection' | 'withTransaction' | 'runAlone'> = {
    withConnection: (use) => driver.withConnection((executor) => use(ofExecutor(executor))),
    withTransaction: (use, options) => driver.withTransaction((tx) => use(ofTransaction(tx)), options),
  };
  if (runAlone) {
    own.runAlone = (statement, values) => {
      sent.push(statement.text);
      return runAlone(statement, values);
    };
  }
  return Object.assign(Object.create(driver) as Driver, own);
}

/** Whether a script does nothing but `set …`. */
function isSetting(text: string): boolean {
  return text.split(';').every((command) => /^\s*(set\s|$)/i.test(command));
}

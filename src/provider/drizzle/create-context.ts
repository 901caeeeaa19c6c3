import { type Clock, SystemClock } from '../../base/clock.js';
import { consoleLogger, guardedLogger, type Logger } from '../../base/logger.js';
import { Semaphore } from '../../base/semaphore.js';
import { assertSchemaName } from '../../schema/schema-name.js';
import { defineOwnTables, defineSchema } from '../../schema/tables.js';
import { Beside } from './beside.js';
import type { ProviderContext } from './context.js';
import type { Driver } from './executor.js';
import { HeldConnection } from './held-connection.js';
import { StoreIdentity } from './store-identity.js';
import { type Compilable, compile, type DecodeRow, type Statement } from './statement.js';

/**
 * Four fetchers of 50 take 12,900 instances per second from two cores, sixteen 8,700: each
 * round looks past everything that the others have locked and not committed.
 */
const MAX_BATCH_FETCHES = 4;

export interface ContextOptions {
  /** @defaultValue `public` */
  readonly schema?: string | undefined;
  /** @defaultValue the host's time, uncorrected */
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  readonly random?: (() => number) | undefined;
  /** @defaultValue `10` */
  readonly quarantineAttempts?: number | undefined;
  readonly wake?: ProviderContext['wake'] | undefined;
  readonly notice?: ProviderContext['notice'] | undefined;
}

/**
 * What the operations work with, over a driver.
 * @throws RangeError for an invalid schema name
 */
export function createContext(driver: Driver, options: ContextOptions = {}): ProviderContext {
  const { schema = 'public', clock = new SystemClock(), random = Math.random, quarantineAttempts = 10 } = options;
  assertSchemaName(schema);
  const logger = guardedLogger(options.logger ?? consoleLogger);
  const statements = new Map<string, Statement<unknown>>();
  return {
    schema,
    tables: defineSchema(schema),
    ownTables: defineOwnTables(schema),
    driver,
    beside: new Beside(driver, logger),
    clock,
    logger,
    random,
    heldConnection: new HeldConnection(),
    batchFetches: new Semaphore(MAX_BATCH_FETCHES),
    identity: new StoreIdentity(driver, schema),
    quarantineAttempts,
    statement<Row>(key: string, build: () => Compilable, decode: DecodeRow<Row>): Statement<Row> {
      let statement = statements.get(key);
      if (statement === undefined) statements.set(key, (statement = compile(build(), decode)));
      return statement as Statement<Row>;
    },
    wake: options.wake ?? (() => {}),
    notice: options.notice ?? (() => undefined),
    startQueues: { present: false },
  };
}

import { UnsupportedError } from '../provider-error.js';
import { driverFor } from './drivers/index.js';
import type { Driver, SqlValues } from './executor.js';
import type { Logger } from '../../base/logger.js';
import { openClient } from './open-client.js';
import type { Statement } from './statement.js';
import { toProviderError } from './to-provider-error.js';

/** How long the connection is kept without use, in seconds. */
const IDLE_TIMEOUT_S = 30;

/**
 * One connection beside the pool, opened when it is needed: for what a caller's transaction
 * cannot see. Never one of the pool's, all of which may be in such transactions and
 * would wait for each other.
 */
export class Beside {
  private opening: Promise<Driver> | undefined;

  constructor(
    private readonly driver: Driver,
    private readonly logger: Logger,
  ) {}

  /** @throws UnsupportedError where no connection can be opened beside the pool; ProviderError */
  async run<Row>(operation: string, statement: Statement<Row>, values: SqlValues): Promise<Row[]> {
    // Asked each time: what was refused, or could not be reached, is tried again.
    const driver = await (this.opening ??= this.open().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    }));
    try {
      return await driver.withConnection((executor) => executor.run(statement, values));
    } catch (error) {
      throw toProviderError(operation, error);
    }
  }

  async close(): Promise<void> {
    const driver = await this.opening?.catch(() => undefined);
    await driver?.close();
  }

  private async open(): Promise<Driver> {
    const settings = this.driver.connectionSettings?.();
    if (!settings) {
      throw new UnsupportedError(
        `no connection can be opened beside this database (${this.driver.kind}): a pg.Pool or a postgres-js client is needed`,
      );
    }
    const client = await openClient({ ...settings, purpose: 'beside a transaction', idleTimeoutS: IDLE_TIMEOUT_S });
    const { namedStatements } = settings;
    return driverFor({ $client: client }, { namedStatements, ownsClient: true, logger: this.logger });
  }
}

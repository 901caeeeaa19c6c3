import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/logger.js';
import type { Semaphore } from '../../base/semaphore.js';
import type { DuroxideTables, OwnTables } from '../../schema/tables.js';
import type { Beside } from './beside.js';
import type { Driver } from './executor.js';
import type { HeldConnection } from './held-connection.js';
import type { Notice } from './notice.js';
import type { StoreIdentity } from './store-identity.js';
import type { Compilable, DecodeRow, Statement } from './statement.js';

/** What every operation of the provider works with. */
export interface ProviderContext {
  readonly schema: string;
  readonly tables: DuroxideTables;
  /** May be missing in a schema that native made. */
  readonly ownTables: OwnTables;
  readonly driver: Driver;
  /** For what a transaction with an older snapshot cannot see. */
  readonly beside: Beside;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Refuses calls that would wait for their own transaction. */
  readonly heldConnection: HeldConnection;
  /** Where batch fetches of instances take turns: beyond a few, they only look at what the others lock. */
  readonly batchFetches: Semaphore;
  /** Tells transactions on this store from those on others. */
  readonly identity: StoreIdentity;
  /** Fetches of a message after which it is set aside as unreadable (provider.md 3.1.2). */
  readonly quarantineAttempts: number;
  /**
   * The statement stored under `key`, compiled at its first use in this provider.
   * Keys that depend on something (a window size, a set of parts) carry it in the key.
   */
  statement<Row>(key: string, build: () => Compilable, decode: DecodeRow<Row>): Statement<Row>;
  /** An orchestrator or worker row became due now and this process may not take it, or start queues changed: tells other processes. */
  wake(about: 'orchestrator' | 'worker' | 'startQueues'): void;
  /** A notification for the transaction that is about to make an orchestrator row due; `undefined`: {@link wake} afterwards. */
  notice(): Notice | undefined;
  /** Whether the tables of start queues are there, by what is known; messages look at them only then. */
  readonly startQueues: { present: boolean };
}

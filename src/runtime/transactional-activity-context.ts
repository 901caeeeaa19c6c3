import type { TransactionClient } from '../client/transaction-client.js';
import { ActivityContext, type ActivityContextParams } from './activity-context.js';

/** Where a transactional activity runs. Made by the runtime, one for each transaction. */
export class TransactionalActivityContext extends ActivityContext {
  /**
   * Starts and signals as part of the activity's transaction: they exist if, and only if,
   * it commits. What {@link getClient} writes exists in any case.
   */
  readonly client: TransactionClient;

  /** @internal */
  constructor(params: ActivityContextParams, client: TransactionClient) {
    super(params);
    this.client = client;
  }
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { UnsupportedError } from '../provider-error.js';

/**
 * Knows which code runs inside of a transaction that holds the only connection. A call of
 * such code that needs another one would wait for itself; it is refused instead.
 */
export class HeldConnection {
  private readonly holders = new AsyncLocalStorage<{ isOpen: boolean }>();
  private open = 0;

  /** Runs `use` as the holder of the only connection. */
  async hold<T>(use: () => Promise<T>): Promise<T> {
    const holder = { isOpen: true };
    this.open += 1;
    try {
      return await this.holders.run(holder, use);
    } finally {
      // Code that was left behind may go on: it waits for nobody but others any more.
      holder.isOpen = false;
      this.open -= 1;
      // A storage that is on costs every promise of the process a look at it.
      if (this.open === 0) this.holders.disable();
    }
  }

  /** @throws UnsupportedError with advice, when called by the holder */
  refuseHolder(operation: string): void {
    if (!this.holders.getStore()?.isOpen) return;
    throw new UnsupportedError(
      `${operation}: refused, because it needs a second connection and there is only one, which the transaction of ` +
        'this activity holds: use ctx.client or client.withTransaction(tx) for starts and signals, read before or ' +
        'after the activity, or give the provider a pool of more than one connection',
    );
  }
}

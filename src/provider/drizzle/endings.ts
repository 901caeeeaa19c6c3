import type { Logger } from '../../base/logger.js';
import type { EndListener, InstanceState } from '../provider.js';

/** Tells waiters of this process which instances ended through it. */
export class Endings {
  private readonly listeners = new Set<{ readonly tell: EndListener; readonly states: boolean }>();

  constructor(private readonly logger: Logger) {}

  /** Whether somebody would like to know how they ended, too. */
  get wantsStates(): boolean {
    return [...this.listeners].some(({ states }) => states);
  }

  /** @returns the unsubscription */
  listen(tell: EndListener, states = false): () => void {
    // Of its own, so that a function given twice is two listeners.
    const entry = { tell, states };
    this.listeners.add(entry);
    return () => void this.listeners.delete(entry);
  }

  /** A listener that fails must not turn a committed acknowledgement into an error. */
  tell(instances: readonly string[], states: readonly InstanceState[]): void {
    for (const { tell } of this.listeners) {
      try {
        tell(instances, states);
      } catch (error) {
        this.logger.error({ error: String(error) }, 'a listener for ended instances failed');
      }
    }
  }
}

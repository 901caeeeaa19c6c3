import type { Logger } from '../../base/logger.js';

type EndListener = (instances: readonly string[]) => void;

/** Tells waiters of this process which instances ended through it. */
export class Endings {
  private readonly listeners = new Set<EndListener>();

  constructor(private readonly logger: Logger) {}

  /** @returns the unsubscription */
  listen(listener: EndListener): () => void {
    // Of its own, so that a function given twice is two listeners.
    const entry: EndListener = (instances) => listener(instances);
    this.listeners.add(entry);
    return () => void this.listeners.delete(entry);
  }

  /** A listener that fails must not turn a committed acknowledgement into an error. */
  tell(ended: readonly { readonly instance: string }[]): void {
    if (ended.length === 0 || this.listeners.size === 0) return;
    const instances = ended.map(({ instance }) => instance);
    for (const listener of this.listeners) {
      try {
        listener(instances);
      } catch (error) {
        this.logger.error({ error: String(error) }, 'a listener for ended instances failed');
      }
    }
  }
}

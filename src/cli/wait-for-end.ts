import type { CliContext } from './context.js';
import { ExitCode } from './exit-codes.js';
import type { Store } from './store.js';

/** Waits until the instance has ended, however. @throws WaitTimeoutError; CliError that says why it has not begun */
export async function waitForEnd({ io }: CliContext, store: Store, id: string, timeoutMs = -1): Promise<void> {
  try {
    await store.client.waitForOrchestration(id, timeoutMs, { signal: io.signal });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'WaitTimeoutError') throw error;
    const { requireKnown } = await import('./instances.js');
    const known = await requireKnown(store, id);
    if (!('pending' in known)) throw error;
    const { notBegun } = await import('./pending-start.js');
    throw notBegun(ExitCode.timeout, known.pending);
  }
}

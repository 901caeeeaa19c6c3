import type { CliContext } from './context.js';
import type { Store } from './store.js';

/** Waits until the instance has ended, however. @throws WaitTimeoutError */
export async function waitForEnd({ io }: CliContext, { client }: Store, id: string, timeoutMs = -1): Promise<void> {
  await client.waitForOrchestration(id, timeoutMs, { signal: io.signal });
}

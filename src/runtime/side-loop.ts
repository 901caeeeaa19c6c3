import type { Gate } from '../base/gate.js';
import { UnsupportedError } from '../provider/provider-error.js';
import type { RuntimeCore } from './core.js';
import { pause } from './core.js';
import { fetchErrorPauseMs } from './fetch-errors.js';

/** What runs beside the dispatchers: schedules, start queues. */
export interface SideLoop {
  /** Where it waits; opened when the runtime stops. */
  readonly gate: Gate;
  /** For the log: what has failed. */
  readonly failure: string;
  /** Subscribes to what wakes it; returns the unsubscriptions. */
  listen(wake: () => void): readonly (() => void)[];
  /** One look, and the wait for the next one. @throws UnsupportedError where its tables are missing */
  step(): Promise<void>;
}

/**
 * Runs until the runtime stops, or ends at once where the tables are missing; backs off from
 * other errors, and from tables that were there and are gone: somebody has to hear of those.
 */
export async function runSideLoop(core: RuntimeCore, { gate, failure, ...loop }: SideLoop): Promise<void> {
  const wake = () => gate.wake();
  core.stopping.addEventListener('abort', wake, { once: true });
  const releases = loop.listen(wake);
  let errors = 0;
  let hasWorked = false;
  try {
    while (!core.stopping.aborted) {
      gate.reset();
      try {
        await loop.step();
        errors = 0;
        hasWorked = true;
      } catch (error) {
        if (error instanceof UnsupportedError && !hasWorked) return;
        errors += 1;
        core.metrics.providerErrors += 1;
        core.logger.warn({ error, errorsInARow: errors }, failure);
        await pause(core, fetchErrorPauseMs(errors));
      }
    }
  } finally {
    for (const release of releases) release();
  }
}

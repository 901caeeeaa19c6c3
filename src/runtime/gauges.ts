import type { RuntimeCore } from './core.js';
import { pause } from './core.js';

/**
 * Reads the queue depths at start and then at an interval, and once the number of running
 * instances, which is counted from there on (runtime.md OB-03, OB-04).
 */
export async function pollGauges(core: RuntimeCore): Promise<void> {
  const management = core.provider.asManagement();
  await guarded(core, async () => {
    // Bounded, where exact metrics would read whole tables beside work (C-26).
    const counts = await management.countByStatus();
    core.metrics.activeInstances += counts.find(({ status }) => status === 'Running')?.count ?? 0;
  });
  while (!core.stopping.aborted) {
    await guarded(core, async () => {
      const { orchestratorQueue, workerQueue } = await management.getQueueDepths();
      core.metrics.orchestratorQueueDepth = orchestratorQueue;
      core.metrics.workerQueueDepth = workerQueue;
    });
    await pause(core, core.options.gaugePollIntervalMs);
  }
}

async function guarded(core: RuntimeCore, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    core.metrics.providerErrors += 1;
    core.logger.debug({ error }, 'reading the gauges failed');
  }
}

import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { PACKAGE_VERSION } from '../base/package-version.js';
import { HEARTBEAT_INTERVAL_MS, type Slots } from '../provider/workers.js';
import type { RuntimeCore } from './core.js';
import { pause } from './core.js';

/** What a runtime is at work on, now. */
export interface Workload {
  readonly orchestrationSlots: () => Slots;
  readonly activitySlots: () => Slots;
}

/**
 * Tells the store that this runtime lives: at its start, every 30 s, and when it stops.
 * Where the store keeps no such list, it is told once and no more. Nothing depends on it,
 * so that a failure is no more than a line in the log.
 */
export async function tellOfItself(core: RuntimeCore, { orchestrationSlots, activitySlots }: Workload): Promise<void> {
  const admin = core.provider.asManagement();
  // The short id of the logs, and enough to tell runtimes of many hosts apart.
  const runtimeId = `${core.runtimeId}-${randomBytes(6).toString('hex')}`;
  const startedAtMs = core.provider.nowMs();
  const told = async (isStopping: boolean): Promise<boolean> => {
    try {
      return await admin.recordWorker({
        runtimeId,
        host: os.hostname(),
        pid: process.pid,
        packageVersion: PACKAGE_VERSION,
        orchestrationSlots: orchestrationSlots(),
        activitySlots: activitySlots(),
        startedAtMs,
        isStopping,
        counters: { ...core.metrics },
      });
    } catch (error) {
      core.metrics.providerErrors += 1;
      core.logger.debug({ error }, 'the heartbeat failed');
      return true;
    }
  };
  while (!core.stopping.aborted) {
    if (!(await told(false))) return;
    await pause(core, HEARTBEAT_INTERVAL_MS);
  }
  await told(true);
}

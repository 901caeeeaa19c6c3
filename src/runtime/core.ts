import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/logger.js';
import type { Provider } from '../provider/provider.js';
import type { ActivityHandler } from './activity-handler.js';
import type { AsyncHost } from './async/async-host.js';
import type { MetricsSnapshot } from './metrics.js';
import { newMetrics } from './metrics.js';
import type { ResolvedRuntimeOptions } from './options.js';
import type { ActivityRegistry, OrchestrationRegistry } from './registry.js';
import type { CreateDriver } from './replay/driver.js';

/** What the parts of a running runtime share; made at each `start`. */
export interface RuntimeCore {
  readonly provider: Provider;
  readonly options: ResolvedRuntimeOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsSnapshot;
  readonly orchestrations: OrchestrationRegistry<CreateDriver>;
  readonly activities: ActivityRegistry<ActivityHandler>;
  /** Drives the async orchestrations of this runtime. */
  readonly host: AsyncHost;
  /** 4 hex digits, new at each start. */
  readonly runtimeId: string;
  /** Aborts when the runtime stops: pauses end, loops leave. */
  readonly stopping: AbortSignal;
  readonly random: () => number;
}

export function newRuntimeId(): string {
  return randomBytes(2).toString('hex');
}

export function makeCore(
  parts: Pick<RuntimeCore, 'provider' | 'options' | 'orchestrations' | 'activities' | 'host' | 'stopping'>,
): RuntimeCore {
  const { clock, logger } = parts.options;
  return { ...parts, clock, logger, metrics: newMetrics(), runtimeId: newRuntimeId(), random: Math.random };
}

/** Sleeps, or returns early when the runtime stops. */
export async function pause(core: RuntimeCore, ms: number): Promise<void> {
  await core.clock.sleep(ms, core.stopping).catch(() => undefined);
}

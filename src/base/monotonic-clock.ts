import type { Clock } from './clock.js';
import { sleepReal } from './clock.js';

/**
 * For intervals and deadlines: Unix milliseconds at the start of the process plus what
 * has passed since then, so that a host whose time is set neither hurries nor hangs.
 * Never for anything that is stored: that is the provider's clock.
 */
export const monotonicClock: Clock = {
  nowMs: () => Math.floor(performance.timeOrigin + performance.now()),
  sleep: (ms, signal) => sleepReal(ms, signal),
};

import type { Ms } from './provider.js';

/** A runtime tells of itself so often, in ms. */
export const HEARTBEAT_INTERVAL_MS: Ms = 30_000;
/** A runtime that was not heard of for so long is shown as gone, in ms. */
export const WORKER_GONE_AFTER_MS: Ms = 5 * 60_000;
/** A runtime that was not heard of for so long is forgotten, in ms. */
export const WORKER_FORGOTTEN_AFTER_MS: Ms = 24 * 60 * 60_000;

/** How many turns or activities a runtime may run at once, and how many it runs. */
export interface Slots {
  readonly inUse: number;
  readonly total: number;
}

/** What a runtime tells of itself at start, every 30 s, and at shutdown. */
export interface WorkerHeartbeat {
  readonly runtimeId: string;
  readonly host: string;
  readonly pid: number;
  readonly packageVersion: string;
  readonly orchestrationSlots: Slots;
  readonly activitySlots: Slots;
  /** Unix ms of the provider's clock. */
  readonly startedAtMs: Ms;
  /** It shuts down, and will not be heard of again. */
  readonly isStopping: boolean;
  /** Counters since its start, by name; what they mean is the runtime's affair. */
  readonly counters: Readonly<Record<string, number>>;
}

/**
 * - `running`: heard of in the last five minutes;
 * - `stopped`: it shut down in good order;
 * - `gone`: not heard of since.
 */
export type WorkerState = 'running' | 'stopped' | 'gone';

export interface WorkerInfo extends Omit<WorkerHeartbeat, 'isStopping'> {
  readonly state: WorkerState;
  /** Unix ms of the provider's clock. */
  readonly lastSeenMs: Ms;
}

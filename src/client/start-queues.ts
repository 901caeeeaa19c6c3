import type { Provider } from '../provider/provider.js';
import { UnsupportedError } from '../provider/provider-error.js';
import type {
  StartLimits,
  StartQueueChange,
  StartQueueStore,
  StoredStartQueue,
  WaitingStarts,
} from '../provider/start-queues.js';
import { checkedLimits, checkedQueueId, StartQueueError, type StartQueueLimits } from './start-queue-limits.js';

/** A start queue to be created. */
export interface StartQueueOptions extends StartQueueLimits {
  readonly id: string;
  /** Create it without admitting until {@link StartQueues.resume}. @defaultValue `false` */
  readonly paused?: boolean | undefined;
  /**
   * What happens when there is a queue of this id: `error` throws; `update` gives it exactly
   * these limits, so that a program may create its queues at each start. Whether it is paused
   * stays. @defaultValue `error`
   */
  readonly ifExists?: 'error' | 'update' | undefined;
}

/** How a queue is deleted in which starts wait. */
export interface DeleteStartQueueOptions {
  /**
   * `refuse` throws; `discard` takes them away, as if they had never been started; `start`
   * starts them all at once. @defaultValue `refuse`
   */
  readonly waiting?: WaitingStarts | undefined;
}

/** A start queue as it stands. */
export interface StartQueueInfo extends StartLimits {
  readonly id: string;
  readonly isPaused: boolean;
  /** Starts that wait for their admission. */
  readonly waiting: number;
  /** Admitted instances that have not ended. */
  readonly running: number;
  /** When the start that has waited longest was enqueued; `null` when none waits. */
  readonly oldestWaitingAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const NO_LIMITS: StartLimits = { concurrency: null, concurrencyPerKey: null, rate: null, ratePerKey: null };
const WAITING: readonly WaitingStarts[] = ['refuse', 'discard', 'start'];

/**
 * Start queues: limits on how many instances run at the same time and how often one is
 * started, in all and for each key, over all processes. `client.start(…, { queue })` puts a
 * start into one.
 *
 * Every method throws an `UnsupportedError` with advice where the store keeps no start queues.
 */
export class StartQueues {
  /** @internal use `client.startQueues` */
  constructor(private readonly provider: Provider) {}

  /** @throws StartQueueError for what cannot be meant, and for an id that exists */
  async create(options: StartQueueOptions): Promise<StartQueueInfo> {
    const id = checkedQueueId(options.id);
    const { ifExists = 'error', paused = false } = options;
    if (ifExists !== 'error' && ifExists !== 'update') {
      throw new StartQueueError(id, `ifExists must be 'error' or 'update', got '${String(ifExists)}'`);
    }
    if (typeof paused !== 'boolean')
      throw new StartQueueError(id, `paused must be true or false, got ${typeof paused}`);
    const limits = { ...NO_LIMITS, ...checkedLimits(id, options) };
    const isAdded = await this.store().add(id, limits, paused);
    if (!isAdded && ifExists === 'error') {
      throw new StartQueueError(id, "it exists already; change it by update, or pass ifExists: 'update'");
    }
    if (!isAdded) await this.change(id, limits);
    return this.get(id);
  }

  /** Changes limits; what is absent stays, `null` takes a limit away. @throws StartQueueError, also for an unknown id */
  async update(id: string, changes: StartQueueLimits): Promise<StartQueueInfo> {
    await this.change(checkedQueueId(id), checkedLimits(id, changes));
    return this.get(id);
  }

  /** Nothing is admitted until {@link resume}; what runs goes on, and starts may be enqueued. @throws StartQueueError for an unknown id */
  async pause(id: string): Promise<void> {
    await this.change(checkedQueueId(id), { isPaused: true });
  }

  /** @throws StartQueueError for an unknown id */
  async resume(id: string): Promise<void> {
    await this.change(checkedQueueId(id), { isPaused: false });
  }

  /**
   * Deletes a queue; its instances go on. Waits for transactions that have enqueued into it.
   * @returns whether there was one
   * @throws StartQueueError when starts wait in it, unless the options say what to do with them
   */
  async delete(id: string, { waiting = 'refuse' }: DeleteStartQueueOptions = {}): Promise<boolean> {
    checkedQueueId(id);
    if (!WAITING.includes(waiting)) {
      throw new StartQueueError(id, `waiting must be 'refuse', 'discard' or 'start', got '${String(waiting)}'`);
    }
    const removal = await this.store().remove(id, waiting);
    if (removal.outcome === 'refused') {
      throw new StartQueueError(
        id,
        `it was not deleted: ${removal.waiting} starts wait in it; pass waiting: 'start' or waiting: 'discard'`,
      );
    }
    return removal.outcome === 'removed';
  }

  /** @throws StartQueueError for an unknown id */
  async get(id: string): Promise<StartQueueInfo> {
    const stored = await this.store().find(checkedQueueId(id));
    if (!stored) throw unknownQueue(id);
    return viewQueue(stored);
  }

  /** All of them, by id. */
  async list(): Promise<StartQueueInfo[]> {
    return (await this.store().list()).map(viewQueue);
  }

  private async change(id: string, change: StartQueueChange): Promise<void> {
    if (!(await this.store().change(id, change))) throw unknownQueue(id);
  }

  private store(): StartQueueStore {
    return startQueueStore(this.provider);
  }
}

/** @throws UnsupportedError */
export function startQueueStore(provider: Provider): StartQueueStore {
  const store = provider.startQueues?.();
  if (store) return store;
  throw new UnsupportedError(
    `${provider.name()} keeps no start queues here; use a DrizzleProvider on PostgreSQL or PGlite`,
  );
}

export function unknownQueue(id: string): StartQueueError {
  return new StartQueueError(id, 'there is no queue of this id; create it by client.startQueues.create');
}

function viewQueue({ oldestWaitingMs, createdMs, updatedMs, ...stored }: StoredStartQueue): StartQueueInfo {
  const { id, concurrency, concurrencyPerKey, rate, ratePerKey, isPaused, waiting, running } = stored;
  return {
    ...{ id, concurrency, concurrencyPerKey, rate, ratePerKey, isPaused, waiting, running },
    oldestWaitingAt: oldestWaitingMs === null ? null : new Date(oldestWaitingMs),
    createdAt: new Date(createdMs),
    updatedAt: new Date(updatedMs),
  };
}

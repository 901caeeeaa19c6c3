import { startQueueStore } from '../../client/start-queues.js';
import type { Provider } from '../../provider/provider.js';
import type { StartQueueFigures } from '../../provider/start-queues.js';
import type { Part, StartQueueRow, StartQueuesView } from '../views.js';
import { supported } from './supported.js';

/** Start queues that a page shows. */
const MAX_QUEUES = 200;

/** `StartQueueStore.figures`. */
export const QUEUES_STATEMENTS = 2;

/** The start queues as the page shows them; a store without the tables says what it lacks. */
export function readQueues(provider: Provider): Promise<Part<StartQueuesView>> {
  return supported(async () => {
    const found = await startQueueStore(provider).figures(MAX_QUEUES + 1);
    return { rows: found.slice(0, MAX_QUEUES).map(rowOf), isPart: found.length > MAX_QUEUES };
  });
}

function rowOf(queue: StartQueueFigures): StartQueueRow {
  const { id, concurrency, concurrencyPerKey, rate, ratePerKey, isPaused, waiting, running, isPartOfKeys } = queue;
  return {
    ...{ id, concurrency, concurrencyPerKey, rate, ratePerKey, isPaused, waiting, running, isPartOfKeys },
    oldestWaitingAtMs: queue.oldestWaitingMs,
    keys: queue.keys.map(({ oldestWaitingMs, ...key }) => ({ ...key, oldestWaitingAtMs: oldestWaitingMs })),
  };
}

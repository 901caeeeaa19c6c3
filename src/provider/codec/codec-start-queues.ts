import type { QueuedStart, QueueStartOutcome, StartQueueStore } from '../start-queues.js';
import type { Coder } from './coder.js';
import { eachEncoded } from './each-encoded.js';
import { mapWorkItem } from './map-payloads.js';

/** Starts wait with their input encoded, as they will stand in the orchestrator queue. */
export function codecStartQueues(queues: StartQueueStore, coder: Coder): StartQueueStore {
  const encoded = async (start: QueuedStart): Promise<QueuedStart> => ({
    ...start,
    item: (await coder.encode(start.item, mapWorkItem, start.item.instance)) as QueuedStart['item'],
  });
  return {
    add: (id, limits, isPaused) => queues.add(id, limits, isPaused),
    find: (id) => queues.find(id),
    list: () => queues.list(),
    figures: (limit) => queues.figures(limit),
    change: (id, change) => queues.change(id, change),
    remove: (id, waiting) => queues.remove(id, waiting),
    enqueue: (starts) =>
      eachEncoded<QueuedStart, QueueStartOutcome>('queue_start', starts, encoded, (ready) => queues.enqueue(ready)),
    admit: (ended) => queues.admit(ended),
    onChanged: (listener) => queues.onChanged(listener),
  };
}

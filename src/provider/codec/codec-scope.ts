import type { WorkItem } from '../../wire/work-item.js';
import { targetInstance } from '../../wire/work-item.js';
import type { TransactionScope } from '../provider.js';
import type { QueuedStart, QueueStartOutcome } from '../start-queues.js';
import type { Coder } from './coder.js';
import { mapWorkItem } from './map-payloads.js';

/** Where the codec answers at once, the statement is issued in the tick of the call, as without one. */
export function codecScope(scope: TransactionScope, coder: Coder): TransactionScope {
  const encode = (item: WorkItem) => coder.encode(item, mapWorkItem, targetInstance(item));
  const together = <T, R>(all: readonly (T | Promise<T>)[], send: (encoded: readonly T[]) => Promise<R>): Promise<R> =>
    all.some((each) => each instanceof Promise) ? Promise.all(all).then(send) : send(all as readonly T[]);
  const joined = <T>(item: WorkItem, join: (encoded: WorkItem) => T): T | Promise<T> => {
    const encoded = encode(item);
    return encoded instanceof Promise ? encoded.then(join) : join(encoded);
  };
  return {
    enqueueForOrchestrator: async (elements) =>
      together(
        elements.map((element) => joined(element.item, (item) => ({ ...element, item }))),
        (encoded) => scope.enqueueForOrchestrator(encoded),
      ),
    enqueueForWorker: async (items) => together(items.map(encode), (encoded) => scope.enqueueForWorker(encoded)),
    enqueueStartIfAbsent: async (item) => {
      const encoded = coder.encode(item, mapWorkItem, item.instance);
      const send = (ready: WorkItem) => scope.enqueueStartIfAbsent(ready as typeof item);
      return encoded instanceof Promise ? encoded.then(send) : send(encoded);
    },
    ...(scope.queueStart && {
      queueStart: async (start: QueuedStart) => {
        const encoded = coder.encode(start.item, mapWorkItem, start.item.instance);
        const send = async (item: WorkItem): Promise<QueueStartOutcome> =>
          (await scope.queueStart?.({ ...start, item: item as typeof start.item })) ?? 'exists';
        return encoded instanceof Promise ? encoded.then(send) : send(encoded);
      },
    }),
    ackWorkItems: async (elements) =>
      together(
        elements.map((element) =>
          element.completion ? joined(element.completion, (completion) => ({ ...element, completion })) : element,
        ),
        (encoded) => scope.ackWorkItems(encoded),
      ),
  };
}

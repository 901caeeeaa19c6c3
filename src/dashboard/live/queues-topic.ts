import type { Clock } from '../../base/clock.js';
import type { Provider } from '../../provider/provider.js';
import { QUEUES_STATEMENTS, readQueues } from '../model/queue-rows.js';
import { WholeTopic } from './whole-topic.js';

/** How often the start queues are read again, in ms. */
const EVERY_MS = 4_000;

/** The start queues, as somebody looks at them. */
export class QueuesTopic extends WholeTopic<'queues'> {
  constructor(provider: Provider, clock: Clock) {
    super({
      name: 'queues',
      clock,
      everyMs: EVERY_MS,
      statements: QUEUES_STATEMENTS,
      nowMs: () => provider.nowMs(),
      read: async () => ({ queues: await readQueues(provider) }),
    });
  }
}

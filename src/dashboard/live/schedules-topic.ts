import type { Clock } from '../../base/clock.js';
import type { Client } from '../../client/client.js';
import type { Provider } from '../../provider/provider.js';
import { readSchedules, SCHEDULES_STATEMENTS } from '../model/schedule-rows.js';
import { WholeTopic } from './whole-topic.js';

/** How often the schedules are read again, in ms: they fire once a second at most. */
const EVERY_MS = 4_000;

/** The schedules, as somebody looks at them. */
export class SchedulesTopic extends WholeTopic<'schedules'> {
  constructor(client: Client, provider: Provider, clock: Clock) {
    super({
      name: 'schedules',
      clock,
      everyMs: EVERY_MS,
      statements: SCHEDULES_STATEMENTS,
      nowMs: () => provider.nowMs(),
      read: async () => ({ schedules: await readSchedules(client) }),
    });
  }
}

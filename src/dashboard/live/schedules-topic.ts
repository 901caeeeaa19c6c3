import type { Clock } from '../../base/clock.js';
import type { Client } from '../../client/client.js';
import type { Provider } from '../../provider/provider.js';
import { readSchedules, SCHEDULES_STATEMENTS } from '../model/schedule-rows.js';
import { type LiveTask, Topic } from './topic.js';

/** How often the schedules are read again, in ms: they fire once a second at most. */
const EVERY_MS = 4_000;

/** The schedules, as somebody looks at them. Says something only when they changed. */
export class SchedulesTopic extends Topic {
  readonly tasks: readonly LiveTask[];
  private last = '';

  constructor(client: Client, provider: Provider, clock: Clock) {
    super();
    const task: LiveTask = {
      dueAtMs: clock.nowMs() + EVERY_MS,
      statements: SCHEDULES_STATEMENTS,
      run: async () => {
        task.dueAtMs = clock.nowMs() + EVERY_MS;
        const view = await readSchedules(client, provider);
        const text = JSON.stringify(view.schedules);
        if (text === this.last) return;
        this.last = text;
        this.publish('schedules', view);
      },
    };
    this.tasks = [task];
  }
}

import type { InstancePageQuery } from '../../provider/instance-pages.js';
import type { Provider } from '../../provider/provider.js';
import type { Clock } from '../../base/clock.js';
import { pageView } from '../model/instance-row.js';
import { statementsOfPage } from '../model/statement-costs.js';
import { type LiveTask, Topic } from './topic.js';

/** How often a page of the list is read again, in ms. */
const EVERY_MS = 3_000;

/** One page of the list, as somebody looks at it. Says something only when it changed. */
export class ListTopic extends Topic {
  readonly tasks: readonly LiveTask[];
  private last = '';

  constructor(provider: Provider, clock: Clock, query: InstancePageQuery) {
    super();
    const task: LiveTask = {
      dueAtMs: clock.nowMs() + EVERY_MS,
      statements: statementsOfPage(query),
      run: async () => {
        task.dueAtMs = clock.nowMs() + EVERY_MS;
        const page = pageView(await provider.asManagement().listInstancesPage(query));
        // Where matches are far apart, one reading finds only some of them: no news.
        if (page.next !== null && page.rows.length < query.limit) return;
        const text = JSON.stringify(page);
        if (text === this.last) return;
        this.last = text;
        this.publish('list', { ...page, nowMs: provider.nowMs() });
      },
    };
    this.tasks = [task];
  }
}

import type { Clock } from '../../base/clock.js';
import type { InstancePageQuery } from '../../provider/instance-pages.js';
import type { Provider } from '../../provider/provider.js';
import { pageView } from '../model/instance-row.js';
import { statementsOfPage } from '../model/statement-costs.js';
import { WholeTopic } from './whole-topic.js';

/** How often a page of the list is read again, in ms. */
const EVERY_MS = 3_000;

/** One page of the list, as somebody looks at it. */
export class ListTopic extends WholeTopic<'list'> {
  constructor(provider: Provider, clock: Clock, query: InstancePageQuery) {
    super({
      name: 'list',
      clock,
      everyMs: EVERY_MS,
      statements: statementsOfPage(query),
      nowMs: () => provider.nowMs(),
      read: async () => {
        const page = pageView(await provider.asManagement().listInstancesPage(query));
        // Where matches are far apart, one reading finds only some of them: no news.
        return page.next !== null && page.rows.length < query.limit ? undefined : page;
      },
    });
  }
}

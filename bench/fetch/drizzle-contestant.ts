import { silentLogger } from '../../src/base/logger.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { LockedOrchestrationItem, VersionFilter } from '../../src/provider/provider.js';
import { type Contestant, type FetchedItem, LOCK_TIMEOUT_MS } from './contestant.js';
import { nextStep } from './next-step.js';

interface DrizzleItem extends FetchedItem {
  readonly item: LockedOrchestrationItem;
}

const FILTER: VersionFilter = {
  ranges: [{ min: { major: 0, minor: 0, patch: 0 }, max: { major: 0, minor: 1, patch: 30 } }],
};

/** DrizzleProvider, with batches of up to `limit`. */
export function drizzleContestant(limit: number): Contestant {
  return {
    name: `DrizzleProvider, limit ${limit}`,
    schema: 'ours',
    limit,
    async open(url, schema, connections) {
      const provider = await DrizzleProvider.connect(url, {
        schema,
        maxConnections: connections,
        notifications: false,
        logger: silentLogger,
      });
      return {
        async fetch(withVersionFilter): Promise<DrizzleItem[]> {
          const { items } = await provider.fetchOrchestrationItems({
            limit,
            lockTimeoutMs: LOCK_TIMEOUT_MS,
            filter: withVersionFilter ? FILTER : undefined,
          });
          return items.map((item) => ({ instance: item.instance, events: item.history.events.length, item }));
        },
        async ack(items) {
          const results = await provider.ackOrchestrationItems(
            (items as readonly DrizzleItem[]).map(({ item }) => {
              const step = nextStep(item.instance);
              return {
                instance: item.instance,
                lockToken: item.lockToken,
                executionId: item.executionId,
                historyDelta: step.historyDelta,
                workerItems: step.workItems,
                orchestratorItems: [],
                metadata: {},
                cancelledActivities: [],
              };
            }),
          );
          for (const result of results) if (!result.ok) throw result.error;
        },
        close: () => provider.close(),
      };
    },
  };
}

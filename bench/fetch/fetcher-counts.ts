import type { CpuMeter } from '../harness/cpu.js';
import { atLeast, type Goal } from '../harness/goal.js';
import { median } from '../harness/statistics.js';
import type { Backlog } from './backlog.js';
import type { Fetcher } from './contestant.js';
import { drizzleContestant } from './drizzle-contestant.js';
import { measure } from './measure.js';

const COUNTS = [1, 4, 16];
/** Rounds that are not counted: plans and V8 settle. */
const WARM_UPS = 2;

export interface FetcherCounts {
  readonly limit: number;
  readonly withVersionFilter: boolean;
  /** Items per second by number of fetchers, the median of the rounds. */
  readonly perSecond: ReadonlyMap<number, number>;
}

/**
 * DrizzleProvider with one, four and sixteen fetchers, taking turns: a machine drifts by more
 * from minute to minute than they differ.
 */
export async function compareFetcherCounts(
  params: {
    readonly url: string;
    readonly schema: string;
    readonly backlog: Backlog;
    readonly cpu: CpuMeter;
    readonly rounds: number;
  },
  setting: Pick<FetcherCounts, 'limit' | 'withVersionFilter'>,
): Promise<FetcherCounts> {
  const { url, schema, backlog, cpu, rounds } = params;
  const { limit, withVersionFilter } = setting;
  const opened: { fetchers: number; fetcher: Fetcher; rates: number[] }[] = [];
  for (const fetchers of COUNTS) {
    opened.push({ fetchers, fetcher: await drizzleContestant(limit).open(url, schema, fetchers), rates: [] });
  }
  for (let round = -WARM_UPS; round < rounds; round++) {
    for (const { fetchers, fetcher, rates } of opened) {
      const { itemsPerSecond } = await measure(fetcher, {
        fetchers,
        withVersionFilter,
        withAck: false,
        maxItems: backlog.takeable(fetchers, limit),
        maxMs: 3_000,
        cpu,
      });
      if (round >= 0) rates.push(itemsPerSecond);
      await backlog.restore();
    }
  }
  for (const { fetcher } of opened) await fetcher.close();
  return { ...setting, perSecond: new Map(opened.map(({ fetchers, rates }) => [fetchers, median(rates)])) };
}

export function goalOfCounts({ limit, withVersionFilter, perSecond }: FetcherCounts): Goal {
  const title = `fetch, limit ${limit}${withVersionFilter ? ', version filter' : ''}`;
  const most = Math.max(...COUNTS);
  const best = Math.max(...perSecond.values());
  return atLeast(`${title}, ${most} fetchers by the best number of fetchers`, (perSecond.get(most) ?? NaN) / best, 0.8);
}

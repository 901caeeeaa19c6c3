import type { InstanceSummary } from '../../provider/instance-pages.js';
import type { ThroughputView } from '../views.js';

/** Newest instances that a look reads: the longest page. */
export const SAMPLE_SIZE = 1_000;
/** Bars of the chart. */
const BUCKETS = 60;
/** Lengths of a bar, in ms: the shortest whose chart reaches back to the oldest of the sample. */
const BUCKET_LENGTHS_MS = [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000];

/**
 * How many instances began, completed and failed per stretch of time, read off the newest
 * ones, so that the cost does not grow with their number. An old instance that ends now is
 * not among them; where the sample does not reach back, the chart says so.
 */
export function throughputOf(
  sample: readonly InstanceSummary[],
  { nowMs, isWhole }: { readonly nowMs: number; readonly isWhole: boolean },
): ThroughputView {
  const oldestMs = sample.reduce((least, { createdAtMs }) => Math.min(least, createdAtMs), nowMs);
  const spanMs = nowMs - oldestMs;
  const bucketMs = BUCKET_LENGTHS_MS.find((length) => length * BUCKETS >= spanMs) ?? 3_600_000;
  const endMs = Math.ceil((nowMs + 1) / bucketMs) * bucketMs;
  const firstMs = endMs - BUCKETS * bucketMs;
  const empty = () => Array.from({ length: BUCKETS }, () => 0);
  const series = { started: empty(), completed: empty(), failed: empty() };
  const count = (name: keyof typeof series, atMs: number | null) => {
    if (atMs === null || atMs < firstMs || atMs >= endMs) return;
    const at = Math.floor((atMs - firstMs) / bucketMs);
    series[name][at] = (series[name][at] ?? 0) + 1;
  };
  for (const { status, createdAtMs, completedAtMs } of sample) {
    count('started', createdAtMs);
    if (status === 'Completed') count('completed', completedAtMs);
    if (status === 'Failed') count('failed', completedAtMs);
  }
  return {
    bucketMs,
    atMs: series.started.map((_, index) => firstMs + index * bucketMs),
    ...series,
    partialBeforeMs: isWhole || oldestMs <= firstMs ? null : oldestMs,
    sampleSize: sample.length,
  };
}

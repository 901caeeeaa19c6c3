import type { CpuMeter, CpuMs } from '../harness/cpu.js';
import { median, percentile } from '../harness/statistics.js';
import type { Fetcher } from './contestant.js';

export interface MeasureParams {
  readonly fetchers: number;
  readonly withVersionFilter: boolean;
  readonly withAck: boolean;
  /** The measurement ends after so many items, before the backlog thins out. */
  readonly maxItems: number;
  readonly maxMs: number;
  readonly cpu: CpuMeter;
}

export interface Measurement {
  readonly items: number;
  readonly itemsPerSecond: number;
  /** Of one call, acknowledgement included where there is one. */
  readonly callMs: { readonly p50: number; readonly p95: number };
  /** CPU time for each item, in ms: what drifts least on a busy machine. */
  readonly cpuMs: CpuMs;
}

/** Lets so many fetchers run at once. Fails when an instance is handed out twice. */
export async function measure(fetcher: Fetcher, params: MeasureParams): Promise<Measurement> {
  const seen = new Set<string>();
  const callMs: number[] = [];
  const cpuAtStart = params.cpu.read();
  const startMs = performance.now();
  let endMs = startMs;
  const run = async () => {
    while (seen.size < params.maxItems && performance.now() - startMs < params.maxMs) {
      const callStartMs = performance.now();
      const items = await fetcher.fetch(params.withVersionFilter);
      if (items.length === 0) return;
      for (const { instance, events } of items) {
        if (seen.has(instance)) throw new Error(`${instance} was handed out twice`);
        if (events !== 2) throw new Error(`${instance} came with ${events} events`);
        seen.add(instance);
      }
      if (params.withAck) await fetcher.ack(items);
      endMs = performance.now();
      callMs.push(endMs - callStartMs);
    }
  };
  await Promise.all(Array.from({ length: params.fetchers }, run));
  const cpu = params.cpu.since(cpuAtStart);
  return {
    items: seen.size,
    itemsPerSecond: (seen.size * 1000) / (endMs - startMs),
    callMs: { p50: median(callMs), p95: percentile(callMs, 0.95) },
    cpuMs: { server: cpu.server / seen.size, client: cpu.client / seen.size },
  };
}

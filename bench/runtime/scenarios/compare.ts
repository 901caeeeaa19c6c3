import { median } from '../../harness/statistics.js';
import type { Bench } from '../bench.js';
import type { EngineName } from '../engines.js';
import type { Workload } from '../protocol.js';

/** Hellos with 200 in flight, for scenarios that compare two rates. */
export function helloLoad(bench: Bench, waiters = 0): Workload {
  return {
    kind: 'load',
    orchestration: 'hello',
    input: 1,
    inFlight: 200,
    warmUpMs: bench.quick ? 1_000 : 6_000,
    windowMs: bench.quick ? 1_500 : 10_000,
    waiters,
  };
}

export interface Where {
  /** @defaultValue `ours` */
  readonly engine?: EngineName;
  /** @defaultValue one of its own */
  readonly schema?: string;
  /** @defaultValue the server's */
  readonly url?: string;
}

/** Instances completed per second. */
export async function perSecond(bench: Bench, workload: Workload, { engine = 'ours', schema, url }: Where = {}) {
  const { children, elapsedMs } = await bench.measure(engine, workload, schema, url);
  return (children.reduce((sum, child) => sum + child.completed, 0) * 1000) / elapsedMs;
}

/** Alternately without and with something in the way, because the machine may change meanwhile. */
export async function compare(
  bench: Bench,
  without: () => Promise<number>,
  with_: () => Promise<number>,
): Promise<{ without: number; with: number; ratio: number }> {
  const pairs: { readonly without: number; readonly with: number }[] = [];
  for (let n = 0; n < (bench.quick ? 1 : 3); n++) {
    pairs.push({ without: await without(), with: await with_() });
  }
  return {
    without: median(pairs.map((pair) => pair.without)),
    with: median(pairs.map((pair) => pair.with)),
    ratio: median(pairs.map((pair) => pair.with / pair.without)),
  };
}

import type { DurableClient } from '../../test/oracle/sdk.js';
import type { Workload } from './protocol.js';

/** Where a measurement begins and ends. */
export interface Window {
  begin(): Promise<void>;
  end(latenciesMs: readonly number[], completed: number): Promise<void>;
}

const PATIENCE_MS = 600_000;
/** Latencies that are kept of a window. */
const MAX_SAMPLES = 20_000;

/** Keeps instances in flight: whoever sees its result starts the next one. */
export async function runLoad(
  client: DurableClient,
  name: string,
  { orchestration, input, inFlight, warmUpMs, windowMs, waiters = 0 }: Extract<Workload, { kind: 'load' }>,
  window: Window,
): Promise<void> {
  await addWaiters(client, name, waiters);
  let stopped = false;
  let measuring = false;
  let started = 0;
  let completed = 0;
  const latenciesMs: number[] = [];
  const failures: unknown[] = [];
  const slot = async () => {
    while (!stopped && failures.length === 0) {
      const id = `${name}-${started++}`;
      const startMs = performance.now();
      await client.startOrchestration(id, orchestration, input);
      const { status, error } = await client.waitForOrchestration(id, PATIENCE_MS);
      if (status !== 'Completed') throw new Error(`${id} ended as ${status}: ${error}`);
      if (!measuring) continue;
      completed++;
      if (latenciesMs.length < MAX_SAMPLES) latenciesMs.push(performance.now() - startMs);
    }
  };
  const slots = Array.from({ length: inFlight }, () => slot().catch((error: unknown) => failures.push(error)));
  await sleep(warmUpMs);
  await window.begin();
  measuring = true;
  await sleep(windowMs);
  measuring = false;
  const seen = completed;
  stopped = true;
  if (failures.length > 0) throw failures[0];
  await window.end(latenciesMs, seen);
  void slots;
}

/** Lets so many clients wait for instances that do not end. */
export async function addWaiters(client: DurableClient, name: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, n) => `${name}-waiting-${n}`);
  await Promise.all(ids.map((id) => client.startOrchestration(id, 'waiting')));
  // One after the other, as clients come: those of one tick would share each of their looks.
  for (const [n, id] of ids.entries()) {
    if (n % 10 === 0) await sleep(1);
    client.waitForOrchestration(id, PATIENCE_MS).catch(() => undefined);
  }
}

/** One instance after the other; some of them before the window, to warm up. */
export async function runSequence(
  client: DurableClient,
  name: string,
  { orchestration, input, count, warmUpInput = input, warmUpMs = 0 }: Extract<Workload, { kind: 'sequence' }>,
  window: Window,
): Promise<void> {
  const once = async (id: string, input: unknown) => {
    const startMs = performance.now();
    await client.startOrchestration(id, orchestration, input);
    const { status, error } = await client.waitForOrchestration(id, PATIENCE_MS);
    if (status !== 'Completed') throw new Error(`${id} ended as ${status}: ${error}`);
    return performance.now() - startMs;
  };
  const warmUps = Math.min(10, Math.ceil(count / 5));
  const warmUntilMs = performance.now() + warmUpMs;
  for (let n = 0; n < warmUps || performance.now() < warmUntilMs; n++) await once(`${name}-warm-up-${n}`, warmUpInput);
  await window.begin();
  const latenciesMs: number[] = [];
  for (let n = 0; n < count; n++) latenciesMs.push(await once(`${name}-${n}`, input));
  await window.end(latenciesMs, count);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

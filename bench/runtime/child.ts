/** A process of its own for one engine: client and runtime, or a runtime that serves. */
import { openEngine } from './engines.js';
import { addWaiters, runLoad, runSequence } from './load.js';
import { ran, registerPrograms } from './programs.js';
import type { ChildMessage, ChildParams, ChildResult, ParentMessage } from './protocol.js';

const params = JSON.parse(process.argv[2] ?? '') as ChildParams;
async function main(): Promise<void> {
  const { sdk, runtimeOptions } = await openEngine(params.engine, params.url, params.schema);
  const runtime = sdk.runtime(runtimeOptions);
  registerPrograms(runtime);
  await runtime.start();
  await send({ kind: 'ready' });
  await told('go');
  const client = sdk.client();
  const window = new MeasuredWindow();
  const { workload } = params;
  switch (workload.kind) {
    case 'serve':
      await addWaiters(client, params.name, workload.waiters ?? 0);
      await window.begin();
      await told('go');
      await window.end([], 0);
      break;
    case 'load':
      await runLoad(client, params.name, workload, window);
      break;
    case 'sequence':
      await runSequence(client, params.name, workload, window);
      break;
  }
  await told('exit');
}

/** Between two readings of the parent's counters. */
export class MeasuredWindow {
  #startMs = 0;
  #cpu = process.cpuUsage();
  #activities = 0;

  async begin(): Promise<void> {
    await send({ kind: 'begin' });
    await told('go');
    this.#startMs = performance.now();
    this.#cpu = process.cpuUsage();
    this.#activities = ran.activities;
  }

  async end(latenciesMs: readonly number[], completed: number): Promise<void> {
    const elapsedMs = performance.now() - this.#startMs;
    const { user, system } = process.cpuUsage(this.#cpu);
    const result: ChildResult = {
      completed,
      activities: ran.activities - this.#activities,
      elapsedMs,
      latenciesMs,
      clientCpuMs: (user + system) / 1000,
      rssBytes: process.memoryUsage.rss(),
    };
    await send({ kind: 'end', result });
  }
}

async function send(message: ChildMessage): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

/** What the parent said and nobody has asked for yet. */
const inbox: ParentMessage[] = [];
let wake: (() => void) | undefined;
process.on('message', (message) => {
  inbox.push(message as ParentMessage);
  wake?.();
});

async function told(kind: ParentMessage['kind']): Promise<void> {
  for (;;) {
    const message = inbox.shift();
    if (message?.kind === kind) return;
    if (!message) await new Promise<void>((resolve) => (wake = resolve));
  }
}

process.on('disconnect', () => process.exit(1));
try {
  await main();
} catch (error) {
  await send({ kind: 'failed', error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
process.exit(0);

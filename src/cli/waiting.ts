import type { WaitingInstance } from './doctor/waiting-orchestrations.js';
import { counted, durationText } from './output/text.js';
import type { Store } from './store.js';

/** An instance's oldest message, when no worker has it in hand. */
export interface Waiting extends WaitingInstance {
  /** Of the orchestration, with its version. */
  readonly name: string;
  readonly waitsMs: number;
  readonly advice: string;
}

/** What waits for a worker that takes it; `null` where nothing does. */
export async function waitingOf({ database, provider, schema }: Store, instance: string): Promise<Waiting | null> {
  const { adviceOn, askWaiting, askWorkers, nameText } = await import('./doctor/waiting-orchestrations.js');
  const nowMs = provider.nowMs();
  return database.driver.withConnection(async (executor) => {
    const [waiting] = await askWaiting(executor, { schema, nowMs, instance });
    if (!waiting) return null;
    const hasWorkers = await askWorkers(executor, { schema, nowMs });
    const waitsMs = Math.max(0, nowMs - waiting.sinceMs);
    return { ...waiting, name: nameText(waiting), waitsMs, advice: adviceOn(waiting, hasWorkers) };
  });
}

export function waitingText({ waitsMs, attempts }: Pick<Waiting, 'waitsMs' | 'attempts'>): string {
  const since = `a message waits for a worker for ${durationText(waitsMs)}`;
  return attempts > 0 ? `${since}; fetched and put off ${counted(attempts, 'time')}` : since;
}

import type { Bench } from '../bench.js';

/**
 * Puts start messages into the queue, a thousand in a transaction; with `dueAtMs` (Unix ms) they are all
 * due at that moment. @throws the error of the first that was refused
 */
export async function startMany(
  provider: Awaited<ReturnType<Bench['provider']>>,
  orchestration: string,
  prefix: string,
  count: number,
  dueAtMs?: number,
): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    const delayMs = dueAtMs === undefined ? undefined : Math.max(0, dueAtMs - Date.now());
    const results = await provider.enqueueForOrchestrator(
      Array.from({ length: Math.min(1_000, count - from) }, (_, n) => ({
        item: {
          kind: 'StartOrchestration',
          instance: `${prefix}-${from + n}`,
          orchestration,
          input: '1',
          version: null,
          parentInstance: null,
          parentId: null,
          executionId: 1,
        } as const,
        delayMs,
      })),
    );
    for (const result of results) if (!result.ok) throw result.error;
  }
}

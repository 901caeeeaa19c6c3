import { PgBoss } from 'pg-boss';
import type { OpenContestant } from './contestant.js';

/** Plain jobs of a queue, without workflows or results: woken by NOTIFY, in batches, several workers. */
export const openPgBoss: OpenContestant = async (url) => {
  const boss = new PgBoss({ connectionString: url });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('hello', { notify: true });
  const waiting = new Map<string, () => void>();
  const options = { batchSize: 100, localConcurrency: 2, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
  await boss.work<{ id: string }>('hello', options, async (jobs) => {
    for (const { data } of jobs) {
      waiting.get(data.id)?.();
      waiting.delete(data.id);
    }
  });
  return {
    name: 'pg-boss (plain jobs)',
    async hello(id) {
      const ran = new Promise<void>((resolve) => waiting.set(id, resolve));
      await boss.send('hello', { id });
      await ran;
    },
    close: () => boss.stop({ graceful: false }),
  };
};

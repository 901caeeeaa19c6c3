import { readFile } from 'node:fs/promises';
import { Absurd } from 'absurd-sdk';
import pg from 'pg';
import type { OpenContestant } from './contestant.js';

/**
 * A task with one step. Its schema is not in its npm package: `ABSURD_SQL` names the file
 * `sql/absurd.sql` of its release.
 */
export const openAbsurd: OpenContestant = async (url) => {
  const file = process.env['ABSURD_SQL'];
  if (!file) throw new Error('ABSURD_SQL: expected the path of sql/absurd.sql of the release of absurd-sdk');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(await readFile(file, 'utf8'));
  await client.end();
  const pool = new pg.Pool({ connectionString: url, max: 20 });
  const absurd = new Absurd({ db: pool });
  await absurd.createQueue('default');
  absurd.registerTask({ name: 'hello' }, async (params, ctx) => ctx.step('echo', async () => params));
  const worker = await absurd.startWorker({ concurrency: 100, batchSize: 100, pollInterval: 0.01 });
  return {
    name: 'Absurd',
    async hello(id) {
      const { taskID } = await absurd.spawn('hello', { id });
      const { state } = await absurd.awaitTaskResult(taskID, { timeout: 600 });
      if (state !== 'completed') throw new Error(`${id} ended as ${state}`);
    },
    async close() {
      await worker.close();
      await pool.end();
    },
  };
};

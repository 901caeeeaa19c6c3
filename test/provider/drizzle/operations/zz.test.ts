import { test } from '@jest/globals';
import { fetchWorkItems } from '../../../../src/provider/drizzle/operations/fetch-work-items.js';
import { explain } from './explain.js';
import { openBench } from './support.js';
test('x', async () => {
  const bench = await openBench(); const client = await bench.client();
  await bench.sql('alter table worker_queue set (autovacuum_enabled=false)');
  await bench.sql('truncate worker_queue'); await bench.sql('vacuum analyze worker_queue');
  await fetchWorkItems(bench.ctx, { limit: 1, lockTimeoutMs: 1000, tagFilter: { kind: 'defaultOnly' } });
  const s = bench.ran[0]!;
  await bench.sql(`insert into worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id, session_id)
      select '{}', timestamptz '2020-01-01' + n * interval '1 millisecond', now(), 'i-' || n, 1, 2,
        case when n % 10 = 0 then 's-' || n end from generate_series(1, 100000) n`);
  const e = await explain(client, s);
  console.log(JSON.stringify(e.nodes.map(n=>[n['Node Type'],n['Subplan Name'],n['Index Name'],n['Actual Rows'],(n as any)['Plan Rows'], (n as any)['Total Cost'],(n as any)['Sort Key'],(n as any)['Index Cond'],(n as any)['Filter']]),null,0).replaceAll('],[','],\n['));
  await bench.close();
}, 100000);

import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../../provider/drizzle/context.js';
import type { Transaction } from '../../provider/drizzle/executor.js';
import { integerCell, optionalIntegerCell, textCell } from '../../provider/drizzle/statement.js';
import type { Findings } from '../findings.js';
import type { InstancePage } from '../read-instances.js';

const value = (name: string) => sql.placeholder(name);

/**
 * `counters-agree` for the rows of executions: the current one is the highest, those before
 * it have ended, an end has its moment, and each has events.
 */
export async function checkExecutionRows(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  page: InstancePage,
): Promise<void> {
  const { instances, executions, history } = ctx.tables;
  const statement = ctx.statement(
    'doctor: execution rows',
    () => sql`select i.instance_id, i.current_execution_id, max(e.execution_id),
        count(*) filter (where e.execution_id < i.current_execution_id and e.status = 'Running'),
        count(*) filter (where e.status in ('Completed', 'Failed') and e.completed_at is null),
        count(*) filter (where e.status = 'Running' and e.completed_at is not null),
        count(*) filter (where e.execution_id < i.current_execution_id and not exists (
          select 1 from ${history} h where h.instance_id = e.instance_id and h.execution_id = e.execution_id))
      from ${instances} i left join ${executions} e on e.instance_id = i.instance_id
      where i.instance_id >= ${value('first')} and i.instance_id <= ${value('last')}
      group by i.instance_id, i.current_execution_id`,
    ([instance, current, highest, running, unfinished, finished, empty]) => ({
      instance: textCell(instance),
      current: integerCell(current),
      highest: optionalIntegerCell(highest),
      running: integerCell(running),
      unfinished: integerCell(unfinished),
      finished: integerCell(finished),
      empty: integerCell(empty),
    }),
  );
  for (const row of await tx.run(statement, { first: page.first, last: page.last })) {
    const { instance } = row;
    const report = (problem: string) => findings.report('counters-agree', { instance, problem });
    if (row.highest !== row.current) {
      report(`the current execution is ${row.current}, the highest is ${row.highest ?? 'missing'}`);
    }
    if (row.running > 0) report(`executions before the current one are running: ${row.running}`);
    if (row.unfinished > 0) report(`executions ended without the moment of their end: ${row.unfinished}`);
    if (row.finished > 0) report(`executions are running and have a moment of their end: ${row.finished}`);
    if (row.empty > 0)
      findings.report('history-complete', { instance, problem: `executions without events: ${row.empty}` });
  }
}

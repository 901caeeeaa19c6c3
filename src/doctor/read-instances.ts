import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../provider/drizzle/context.js';
import type { Transaction } from '../provider/drizzle/executor.js';
import { SET_ASIDE_UNTIL } from '../provider/drizzle/operations/moment.js';
import { integerCell, type Statement, textCell } from '../provider/drizzle/statement.js';
import { decodeWorkItem } from '../wire/work-item.js';
import { WireError } from '../wire/wire-error.js';
import type { Findings } from './findings.js';
import { type InstanceView, QueuedMessages } from './instance-view.js';
import { INSTANCES_PER_PAGE, ROWS_PER_READ, sha256Of, withinBytes } from './page.js';

const value = (name: string) => sql.placeholder(name);

/** Instances that follow each other, and the first and the last of them. */
export interface InstancePage {
  readonly views: ReadonlyMap<string, InstanceView>;
  readonly first: string;
  readonly last: string;
}

/** The page of instances after `after`, with what waits for them; `undefined` when there are no more. */
export async function readInstances(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  after: string | undefined,
): Promise<InstancePage | undefined> {
  const rows =
    after === undefined
      ? await tx.run(instancesFrom(ctx, 'start'))
      : await tx.run(instancesFrom(ctx, 'after'), { after });
  const first = rows[0]?.instance;
  const last = rows.at(-1)?.instance;
  if (first === undefined || last === undefined) return undefined;
  const views = new Map(rows.map((row) => [row.instance, { ...row, queued: new QueuedMessages(), work: new Map() }]));
  const page = { views, first, last };
  await readMessages(ctx, tx, findings, page);
  await readWork(ctx, tx, page);
  return page;
}

function instancesFrom(ctx: ProviderContext, from: 'start' | 'after') {
  const { instances, executions } = ctx.tables;
  return ctx.statement(
    `doctor: instances from ${from}`,
    () => sql`select i.instance_id, i.current_execution_id, e.status, ${sha256Of(sql`i.custom_status`)}
      from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      ${from === 'after' ? sql`where i.instance_id > ${value('after')}` : sql``}
      order by i.instance_id limit ${sql.raw(String(INSTANCES_PER_PAGE))}`,
    ([instance, current, status, hash]) => ({
      instance: textCell(instance),
      currentExecutionId: integerCell(current),
      status: status ?? null,
      customStatusHash: hash ?? null,
    }),
  );
}

async function readMessages(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  page: InstancePage,
): Promise<void> {
  const statement = messagesOfPage(ctx);
  let after = { instance: page.first, rowId: 0 };
  for (;;) {
    const rows = await tx.run(statement, { ...after, last: page.last });
    for (const { instance, rowId, text, isSetAside } of rows) {
      after = { instance, rowId };
      const view = page.views.get(instance);
      if (!view || isSetAside) continue;
      try {
        view.queued.add(decodeWorkItem(text));
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        const problem = `a message cannot be read: ${error.message}`;
        findings.report('queue-owner', { instance, table: 'orchestrator_queue', rowId, problem });
      }
    }
    if (rows.length === 0) return;
  }
}

function messagesOfPage(
  ctx: ProviderContext,
): Statement<{ instance: string; rowId: number; text: string; isSetAside: boolean }> {
  const rows = sql`select instance_id, id, work_item as payload, visible_at >= ${SET_ASIDE_UNTIL}::timestamptz as aside
    from ${ctx.tables.orchestratorQueue}
    where instance_id <= ${value('last')} and (instance_id, id) > (${value('instance')}, ${value('rowId')}::bigint)
    order by instance_id, id limit ${sql.raw(String(ROWS_PER_READ))}`;
  return ctx.statement(
    'doctor: messages',
    () => withinBytes(rows, sql`instance_id, id, payload, aside`, sql`instance_id, id`),
    ([instance, rowId, text, aside]) => ({
      instance: textCell(instance),
      rowId: integerCell(rowId),
      text: textCell(text),
      isSetAside: aside === 't' || aside === 'true',
    }),
  );
}

async function readWork(ctx: ProviderContext, tx: Transaction, page: InstancePage): Promise<void> {
  const statement = ctx.statement(
    'doctor: work',
    () => sql`select instance_id, id, execution_id, activity_id from ${ctx.tables.workerQueue}
      where instance_id <= ${value('last')} and (instance_id, id) > (${value('instance')}, ${value('rowId')}::bigint)
        and execution_id is not null and activity_id is not null
      order by instance_id, id limit ${sql.raw(String(ROWS_PER_READ))}`,
    ([instance, rowId, execution, activity]) => ({
      instance: textCell(instance),
      rowId: integerCell(rowId),
      key: `${integerCell(execution)}:${integerCell(activity)}`,
    }),
  );
  let after = { instance: page.first, rowId: 0 };
  for (;;) {
    const rows = await tx.run(statement, { ...after, last: page.last });
    for (const { instance, rowId, key } of rows) {
      after = { instance, rowId };
      const work = page.views.get(instance)?.work;
      work?.set(key, (work.get(key) ?? 0) + 1);
    }
    if (rows.length === 0) return;
  }
}

import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../provider/drizzle/context.js';
import type { Transaction } from '../provider/drizzle/executor.js';
import { booleanCell, integerCell, textCell } from '../provider/drizzle/statement.js';
import { fullChildId } from '../runtime/replay/instance-ids.js';
import type { Findings } from './findings.js';
import type { ChildQuestion, OutputQuestion, ValuesQuestion } from './invariant.js';
import { ROWS_PER_READ, sha256Of } from './page.js';
import type { InstancePage } from './read-instances.js';

const value = (name: string) => sql.placeholder(name);

/** What the checks of a page want to know of other rows, asked together at its end. */
export class Questions {
  readonly children: ChildQuestion[] = [];
  readonly outputs: OutputQuestion[] = [];
  readonly values: ValuesQuestion[] = [];
}

export async function answerQuestions(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  page: InstancePage,
  questions: Questions,
): Promise<void> {
  for (const children of chunks(questions.children)) await checkChildren(ctx, tx, findings, children);
  for (const outputs of chunks(questions.outputs)) await checkOutputs(ctx, tx, findings, outputs);
  await checkValues(ctx, tx, findings, page, questions.values);
}

/** A child that its parent waits for is about to start or still runs; an end would have told the parent. */
async function checkChildren(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  children: readonly ChildQuestion[],
): Promise<void> {
  const { instances, executions, orchestratorQueue } = ctx.tables;
  const statement = ctx.statement(
    'doctor: children',
    () => sql`select u.n, coalesce(e.status, 'nothing'),
        exists (select 1 from ${orchestratorQueue} q where q.instance_id = u.child
          and starts_with(q.work_item, '{"StartOrchestration"')) as starts,
        coalesce(i.parent_instance_id = u.parent, false) as is_child
      from unnest(${value('children')}::text[], ${value('parents')}::text[]) with ordinality as u(child, parent, n)
      left join ${instances} i on i.instance_id = u.child
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`,
    ([n, status, starts, isChild]) => ({
      index: integerCell(n) - 1,
      status: textCell(status),
      starts: booleanCell(starts),
      isChild: booleanCell(isChild),
    }),
  );
  const rows = await tx.run(statement, {
    children: children.map(({ instance, child }) => fullChildId(instance, child)),
    parents: children.map(({ instance }) => instance),
  });
  for (const { index, status, starts, isChild } of rows) {
    const question = children[index];
    const lives = isChild && (status === 'Running' || status === 'ContinuedAsNew');
    if (!question || starts || lives) continue;
    const { instance, executionId, eventId } = question;
    const found = isChild ? `is ${status}` : 'does not exist or belongs to somebody else';
    const problem = `the child has no outcome here, and it ${found}`;
    findings.report('can-proceed', { instance, executionId, eventId, problem });
  }
}

async function checkOutputs(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  outputs: readonly OutputQuestion[],
): Promise<void> {
  const statement = ctx.statement(
    'doctor: outputs',
    () => sql`select e.instance_id, e.execution_id
      from unnest(${value('instances')}::text[], ${value('executionIds')}::bigint[], ${value('hashes')}::text[])
        as u(instance_id, execution_id, hash)
      join ${ctx.tables.executions} e on e.instance_id = u.instance_id and e.execution_id = u.execution_id
      where ${sha256Of(sql`coalesce(e.output, '')`)} <> u.hash`,
    ([instance, execution]) => ({ instance: textCell(instance), executionId: integerCell(execution) }),
  );
  const different = await tx.run(statement, {
    instances: outputs.map(({ instance }) => instance),
    executionIds: outputs.map(({ executionId }) => executionId),
    hashes: outputs.map(({ outputHash }) => outputHash),
  });
  for (const place of different) {
    findings.report('counters-agree', { ...place, problem: 'the output of the row is not that of the last event' });
  }
}

/** `kv_delta` holds the changes of running executions, and of no others. */
async function checkValues(
  ctx: ProviderContext,
  tx: Transaction,
  findings: Findings,
  page: InstancePage,
  questions: readonly ValuesQuestion[],
): Promise<void> {
  const statement = ctx.statement(
    'doctor: values',
    () => sql`select instance_id, key, ${sha256Of(sql`value`)} from ${ctx.tables.kvDelta}
      where instance_id >= ${value('first')} and instance_id <= ${value('last')}`,
    ([instance, key, hash]) => ({ instance: textCell(instance), key: textCell(key), hash: hash ?? null }),
  );
  const stored = new Map<string, Map<string, string>>();
  for (const { instance, key, hash } of await tx.run(statement, { first: page.first, last: page.last })) {
    const values = stored.get(instance) ?? new Map<string, string>();
    stored.set(instance, values);
    if (hash !== null) values.set(key, hash);
  }
  for (const { instance, executionId, hashes } of questions) {
    const values = stored.get(instance) ?? new Map<string, string>();
    const isSame = values.size === hashes.size && [...hashes].every(([key, hash]) => values.get(key) === hash);
    if (isSame) continue;
    findings.report('counters-agree', { instance, executionId, problem: 'kv_delta is not what the history says' });
  }
  for (const instance of stored.keys()) {
    const view = page.views.get(instance);
    if (!view || view.status === 'Running') continue;
    const problem = `kv_delta has changes although the execution is ${view.status ?? 'missing'}`;
    findings.report('counters-agree', { instance, executionId: view.currentExecutionId, problem });
  }
}

function* chunks<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += ROWS_PER_READ) yield all.slice(from, from + ROWS_PER_READ);
}

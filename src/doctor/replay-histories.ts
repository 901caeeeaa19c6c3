import { sql } from 'drizzle-orm';
import { integerCell, textCell } from '../provider/drizzle/statement.js';
import { readStatement } from '../provider/drizzle/transaction.js';
import type { Runtime } from '../runtime/runtime.js';
import { decodeEvent, type HistoryEvent } from '../wire/event.js';
import { WireError } from '../wire/wire-error.js';
import type { Findings } from './findings.js';
import { type CheckScope, INSTANCES_PER_PAGE, OPERATION } from './page.js';
import { type KeyValues, replayExecution } from './replay-execution.js';

const value = (name: string) => sql.placeholder(name);

interface ReplayedInstance {
  readonly instance: string;
  readonly currentExecutionId: number;
  readonly status: string | null;
}

/** `history-replays`: leads the registered code through every history of its instances, one in memory at a time, and outside of any transaction, because it is code of the application. */
export async function checkReplays(scope: CheckScope, runtime: Runtime, total: Findings): Promise<void> {
  let page: readonly ReplayedInstance[];
  let after: string | undefined;
  do {
    page = await readInstances(scope, after);
    for (const instance of page) {
      scope.signal?.throwIfAborted();
      await replayInstance(scope, runtime, total, instance);
    }
    scope.onPage(total);
    after = page.at(-1)?.instance;
  } while (after !== undefined);
}

async function replayInstance(
  scope: CheckScope,
  runtime: Runtime,
  findings: Findings,
  { instance, currentExecutionId, status }: ReplayedInstance,
): Promise<void> {
  const executions = await readExecutions(scope, instance);
  // What an execution begins with is what those before it left; if they were pruned nobody knows.
  let values: KeyValues | undefined = executions[0] === 1 ? new Map() : undefined;
  for (const executionId of executions) {
    const isCurrent = executionId === currentExecutionId;
    if (isCurrent && status === 'Running') values ??= await readStoredValues(scope, instance);
    const history = await readHistory(scope, instance, executionId);
    if (!history) {
      values = undefined;
      continue;
    }
    const answer = await replayExecution({ runtime, instance, executionId, history, values });
    findings.checked(answer.kind === 'skipped' ? 'notReplayed' : 'replayed');
    if (answer.kind === 'different') {
      findings.report('history-replays', { instance, executionId, problem: answer.problem });
    }
    if (values) values = withChanges(values, history);
  }
}

function readInstances({ ctx }: CheckScope, after: string | undefined): Promise<ReplayedInstance[]> {
  const { instances, executions } = ctx.tables;
  const statement = ctx.statement(
    `doctor: replayed instances ${after === undefined ? 'start' : 'after'}`,
    () => sql`select i.instance_id, i.current_execution_id, e.status from ${instances} i
      left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      ${after === undefined ? sql`` : sql`where i.instance_id > ${value('after')}`}
      order by i.instance_id limit ${sql.raw(String(INSTANCES_PER_PAGE))}`,
    ([instance, current, status]) => ({
      instance: textCell(instance),
      currentExecutionId: integerCell(current),
      status: status ?? null,
    }),
  );
  return readStatement(ctx, OPERATION, statement, after === undefined ? {} : { after });
}

function readExecutions({ ctx }: CheckScope, instance: string): Promise<number[]> {
  const statement = ctx.statement(
    'doctor: executions',
    () =>
      sql`select execution_id from ${ctx.tables.executions} where instance_id = ${value('instance')} order by execution_id`,
    ([execution]) => integerCell(execution),
  );
  return readStatement(ctx, OPERATION, statement, { instance });
}

/** `undefined` for a history that cannot be read, which is reported elsewhere. */
async function readHistory(
  { ctx }: CheckScope,
  instance: string,
  executionId: number,
): Promise<HistoryEvent[] | undefined> {
  const statement = ctx.statement(
    'doctor: history',
    () => sql`select event_data from ${ctx.tables.history}
      where instance_id = ${value('instance')} and execution_id = ${value('executionId')} order by event_id`,
    ([text]) => textCell(text),
  );
  try {
    return (await readStatement(ctx, OPERATION, statement, { instance, executionId })).map(decodeEvent);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

async function readStoredValues({ ctx }: CheckScope, instance: string): Promise<KeyValues> {
  const statement = ctx.statement(
    'doctor: stored values',
    () =>
      sql`select key, value, last_updated_at_ms from ${ctx.tables.kvStore} where instance_id = ${value('instance')}`,
    ([key, stored, at]) => [textCell(key), { value: textCell(stored), lastUpdatedAtMs: integerCell(at) }] as const,
  );
  return new Map(await readStatement(ctx, OPERATION, statement, { instance }));
}

function withChanges(values: KeyValues, history: readonly HistoryEvent[]): KeyValues {
  const changed = new Map(values);
  for (const event of history) {
    if (event.kind === 'KeyValueSet') {
      changed.set(event.key, { value: event.value, lastUpdatedAtMs: event.lastUpdatedAtMs });
    } else if (event.kind === 'KeyValueCleared') changed.delete(event.key);
    else if (event.kind === 'KeyValuesCleared') changed.clear();
  }
  return changed;
}

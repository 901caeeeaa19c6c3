import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { integerCell, noRow, textCell } from '../statement.js';
import { changesKv, kvAfter, kvDeltaOf, type KvWritten } from './kv-before.js';
import type { ResetPlan } from './reset-plan.js';
import { readEvents } from './reset-statements.js';

const value = (name: string) => sql.placeholder(name);
const text = (name: string) => sql`${value(name)}::text`;

export interface RestoreKv {
  readonly instance: string;
  readonly executionId: number;
  readonly plan: ResetPlan;
}

/**
 * The end of the execution has merged its values into the store, over those of earlier
 * executions, and its replay must see the store as it was before it (P:KV-27). That is read
 * off the histories.
 * @returns why it cannot be told any more, if so
 */
export async function restoreKv(
  ctx: ProviderContext,
  tx: Transaction,
  { instance, executionId, plan }: RestoreKv,
): Promise<string | undefined> {
  if (!changesKv([...plan.kept, ...plan.archived])) return undefined;
  const before = await kvBefore(ctx, tx, instance, executionId);
  if (before === undefined) {
    return (
      `its execution ${executionId} has changed key-values, and what they were before cannot be told, ` +
      'because histories of earlier executions are gone'
    );
  }
  const { kvStore, kvDelta } = ctx.tables;
  const ofInstance = sql`where instance_id = ${text('instance')}`;
  await tx.run(ctx.statement('reset: store goes', () => sql`delete from ${kvStore} ${ofInstance}`, noRow), { instance });
  await tx.run(ctx.statement('reset: delta goes', () => sql`delete from ${kvDelta} ${ofInstance}`, noRow), { instance });
  const stored = [...before];
  const toStore = ctx.statement(
    'reset: store',
    () => sql`insert into ${kvStore} (instance_id, key, value, execution_id, last_updated_at_ms)
      select ${text('instance')}, u.key, u.value, u.execution_id, u.at_ms
      from unnest(${value('keys')}::text[], ${value('values')}::text[], ${value('executions')}::bigint[],
        ${value('atMs')}::bigint[]) as u(key, value, execution_id, at_ms)`,
    noRow,
  );
  if (stored.length > 0) {
    await tx.run(toStore, {
      instance,
      keys: stored.map(([key]) => key),
      values: stored.map(([, written]) => written.value),
      executions: stored.map(([, written]) => written.executionId),
      atMs: stored.map(([, { atMs }]) => atMs),
    });
  }
  const delta = kvDeltaOf(before, plan.kept);
  const toDelta = ctx.statement(
    'reset: delta',
    () => sql`insert into ${kvDelta} (instance_id, key, value, last_updated_at_ms)
      select ${text('instance')}, u.key, u.value, u.at_ms
      from unnest(${value('keys')}::text[], ${value('values')}::text[], ${value('atMs')}::bigint[]) as u(key, value, at_ms)`,
    noRow,
  );
  if (delta.length > 0) {
    await tx.run(toDelta, {
      instance,
      keys: delta.map(({ key }) => key),
      values: delta.map((change) => change.value),
      atMs: delta.map(({ atMs }) => atMs),
    });
  }
  return undefined;
}

/** Values before an execution; `undefined` when an earlier history is missing or unreadable. */
async function kvBefore(
  ctx: ProviderContext,
  tx: Transaction,
  instance: string,
  executionId: number,
): Promise<Map<string, KvWritten> | undefined> {
  const statement = ctx.statement(
    'reset: earlier histories',
    () => sql`select execution_id, event_data from ${ctx.tables.history} where instance_id = ${text('instance')}
      and execution_id < ${value('executionId')}::bigint order by execution_id, event_id`,
    ([execution, event]) => ({ execution: integerCell(execution), event: textCell(event) }),
  );
  const rows = await tx.run(statement, { instance, executionId });
  if (new Set(rows.map(({ execution }) => execution)).size < executionId - 1) return undefined;
  const events = readEvents(rows.map(({ event }) => event));
  return events && kvAfter(events);
}

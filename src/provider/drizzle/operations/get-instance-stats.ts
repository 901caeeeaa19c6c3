import { sql } from 'drizzle-orm';
import { decodeEvent } from '../../../wire/event.js';
import { WireError } from '../../../wire/wire-error.js';
import type { InstanceStats } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import { type Cell, integerCell, textCell } from '../statement.js';
import { readStatement } from '../transaction.js';

const instance = sql.placeholder('instance');

/**
 * Sizes of the current execution; `null` for an unknown instance. The key-value figures
 * follow native's formula: stored values that the running execution hides are counted
 * (P:T-13).
 */
export async function getInstanceStats(ctx: ProviderContext, instanceId: string): Promise<InstanceStats | null> {
  const { instances, history, kvStore, kvDelta } = ctx.tables;
  const currentHistory = sql`from ${instances} i
    join ${history} h on h.instance_id = i.instance_id and h.execution_id = i.current_execution_id
    where i.instance_id = ${instance}`;
  const statement = ctx.statement(
    'get instance stats',
    () => sql`select 'instance' as kind, null::text as a, null::text as b from ${instances} where instance_id = ${instance}
      union all
      select 'history', count(*)::text, coalesce(sum(octet_length(h.event_data)), 0)::text ${currentHistory}
      union all
      select 'first', h.event_data, null::text ${currentHistory} and h.event_id = 1
      union all
      select 'value', key, octet_length(value)::text from ${kvStore} where instance_id = ${instance}
      union all
      select 'value', key, octet_length(value)::text from ${kvDelta} where instance_id = ${instance} and value is not null`,
    ([kind, a, b]) => ({ kind: textCell(kind), a, b }),
  );
  const rows = await readStatement(ctx, 'get_instance_stats', statement, { instance: instanceId });
  if (!rows.some(({ kind }) => kind === 'instance')) return null;
  const totals = rows.find(({ kind }) => kind === 'history');
  const values = rows.filter(({ kind }) => kind === 'value');
  return {
    historyEventCount: integerCell(totals?.a),
    historySizeBytes: integerCell(totals?.b),
    queuePendingCount: carriedMessages(rows.find(({ kind }) => kind === 'first')?.a),
    kvUserKeyCount: new Set(values.map(({ a }) => a)).size,
    kvTotalValueBytes: values.reduce((sum, { b }) => sum + integerCell(b), 0),
  };
}

/** Mailbox messages that the execution began with. */
function carriedMessages(firstEvent: Cell | undefined): number {
  if (firstEvent === null || firstEvent === undefined) return 0;
  try {
    const event = decodeEvent(firstEvent);
    return event.kind === 'OrchestrationStarted' ? (event.carryForwardEvents?.length ?? 0) : 0;
  } catch (error) {
    // The sizes are right even where the history cannot be read.
    if (error instanceof WireError) return 0;
    throw error;
  }
}

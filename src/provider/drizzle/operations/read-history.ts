import { sql } from 'drizzle-orm';
import { decodeEvent, encodeEvent, EVENT_TYPE_COLUMN, type HistoryEvent } from '../../../wire/event.js';
import { WireError } from '../../../wire/wire-error.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { noRow, textCell } from '../statement.js';
import { readStatement, runStatement } from '../transaction.js';
import { moment } from './moment.js';

const value = (name: string) => sql.placeholder(name);

/**
 * Events of the highest execution in `executions`, which is not always the one that the
 * instance's row calls current (P:T-25). Empty for an unknown instance.
 */
export async function read(ctx: ProviderContext, instance: string): Promise<HistoryEvent[]> {
  const { executions, history } = ctx.tables;
  const statement = ctx.statement(
    'read',
    // Without an execution row, as a test or a foreign writer may leave it, the first execution is read.
    () => sql`select h.event_data from ${history} h
      where h.instance_id = ${value('instance')} and h.execution_id in
        (select coalesce(max(e.execution_id), 1) from ${executions} e where e.instance_id = ${value('instance')})
      order by h.event_id`,
    ([text]) => textCell(text),
  );
  return decodeAll('read', await readStatement(ctx, 'read', statement, { instance }));
}

/** Events of one execution; empty when it is unknown. */
export async function readWithExecution(
  ctx: ProviderContext,
  instance: string,
  executionId: number,
  operation = 'read_with_execution',
): Promise<HistoryEvent[]> {
  const statement = ctx.statement(
    'read with execution',
    () => sql`select event_data from ${ctx.tables.history}
      where instance_id = ${value('instance')} and execution_id = ${value('executionId')} order by event_id`,
    ([text]) => textCell(text),
  );
  return decodeAll(operation, await readStatement(ctx, operation, statement, { instance, executionId }));
}

/** For tests of histories: adds events; one whose id is there already is left as it is. */
export async function appendWithExecution(
  ctx: ProviderContext,
  instance: string,
  executionId: number,
  events: readonly HistoryEvent[],
): Promise<void> {
  const operation = 'append_with_execution';
  if (events.length === 0) return;
  if (events.some(({ eventId }) => eventId === 0)) {
    throw ProviderError.permanent(operation, errorTexts.eventIdMissing);
  }
  const statement = ctx.statement(
    'append with execution',
    () => sql`insert into ${ctx.tables.history}
        (instance_id, execution_id, event_id, event_type, event_data, created_at)
      select ${value('instance')}::text, ${value('executionId')}::bigint, u.event_id, ${sql.raw(`'${EVENT_TYPE_COLUMN}'`)},
        u.event_data, ${value('now')}::timestamptz
      from unnest(${value('ids')}::bigint[], ${value('texts')}::text[]) as u(event_id, event_data)
      on conflict (instance_id, execution_id, event_id) do nothing`,
    noRow,
  );
  await runStatement(ctx, operation, statement, (nowMs) => ({
    instance,
    executionId,
    ids: events.map(({ eventId }) => eventId),
    texts: events.map(encodeEvent),
    now: moment(nowMs),
  }));
}

/** All or nothing: a history with a gap would mean something else. */
function decodeAll(operation: string, texts: readonly string[]): HistoryEvent[] {
  try {
    return texts.map(decodeEvent);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw ProviderError.permanent(operation, `Failed to deserialize event: ${error.message}`, { cause: error });
  }
}

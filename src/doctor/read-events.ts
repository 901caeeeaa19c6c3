import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../provider/drizzle/context.js';
import type { Transaction } from '../provider/drizzle/executor.js';
import { integerCell, textCell } from '../provider/drizzle/statement.js';
import { ROWS_PER_READ, withinBytes } from './page.js';

const value = (name: string) => sql.placeholder(name);

/** A row of `history` with the status of its execution. */
export interface EventRow {
  readonly instance: string;
  readonly executionId: number;
  readonly eventId: number;
  readonly text: string;
  /** Null when the execution has no row. */
  readonly status: string | null;
}

/** Where a reader of events stands. */
export type EventPosition = Pick<EventRow, 'instance' | 'executionId' | 'eventId'>;

/** The events between two instances, both included, in order; a few at a time are in memory. */
export async function* readEvents(
  ctx: ProviderContext,
  tx: Transaction,
  { first, last }: { readonly first: string; readonly last: string },
): AsyncGenerator<EventRow> {
  let after: EventPosition = { instance: first, executionId: 0, eventId: 0 };
  for (;;) {
    const rows = await tx.run(eventsAfter(ctx), { ...after, last });
    yield* rows;
    const end = rows.at(-1);
    if (!end) return;
    after = { instance: end.instance, executionId: end.executionId, eventId: end.eventId };
  }
}

function eventsAfter(ctx: ProviderContext) {
  const { history, executions } = ctx.tables;
  const order = sql`instance_id, execution_id, event_id`;
  const rows = sql`select h.instance_id, h.execution_id, h.event_id, h.event_data as payload, e.status from (
      select instance_id, execution_id, event_id, event_data from ${history}
      where instance_id <= ${value('last')} and (instance_id, execution_id, event_id)
        > (${value('instance')}, ${value('executionId')}::bigint, ${value('eventId')}::bigint)
      order by ${order} limit ${sql.raw(String(ROWS_PER_READ))}
    ) h left join ${executions} e on e.instance_id = h.instance_id and e.execution_id = h.execution_id`;
  return ctx.statement(
    'doctor: events',
    () => withinBytes(rows, sql`instance_id, execution_id, event_id, payload, status`, order),
    ([instance, execution, event, text, status]): EventRow => ({
      instance: textCell(instance),
      executionId: integerCell(execution),
      eventId: integerCell(event),
      text: textCell(text),
      status: status ?? null,
    }),
  );
}

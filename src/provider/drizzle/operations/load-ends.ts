import { type SQL, sql } from 'drizzle-orm';
import type { HeldInstance, Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import type { Statement } from '../statement.js';
import { eventOfH, instanceOfI, type LoadedRow, loadedRow, pinsOfI, type StoredInstance } from './load-instances.js';
import { kindOf } from './ready-rows.js';
import { rangeValues, type VersionRange } from './version-range.js';

/** So many events at the end of a history: the one that is held, or all of a history that has only begun. */
const END_EVENTS = 2;
/** Longer events are read only where they are the last: most often nobody needs the one before. In bytes. */
const LONG_EVENT_BYTES = 2_048;

/** By what a claim is found again in the transaction that made it. */
export interface ClaimMark {
  readonly tokenPrefix: string;
  readonly untilMs: Ms;
  readonly range: VersionRange | 'any';
}

/**
 * The rows and the ends of the histories of what this transaction has just claimed. It finds
 * the claimed instances by their locks and needs to know nothing of the claim, so that it
 * travels with it: a warm instance, or one that has only begun, is loaded without a round trip
 * of its own. A later statement than the claim, like every load.
 */
export function endsStatement(ctx: ProviderContext, range: ClaimMark['range']): Statement<LoadedRow> {
  return ctx.statement(
    `fetch: ends ${kindOf(range)}`,
    () => sql`with won as materialized (${wonInstances(ctx)})
      ${sql.join([instanceRows(ctx, range), lastEvents(ctx), eventsWithoutRow(ctx), keysThere(ctx)], sql` union all `)}`,
    loadedRow,
  );
}

/** The values of {@link endsStatement}. */
export function endsValues({ tokenPrefix, untilMs, range }: ClaimMark): SqlValues {
  return { tokenPrefix, untilMs, ...(range === 'any' ? {} : rangeValues(range)) };
}

const value = (name: string) => sql.placeholder(name);

/** By the index on the time, which hardly another lock shares; the token decides. */
function wonInstances({ tables }: ProviderContext): SQL {
  return sql`select instance_id from ${tables.instanceLocks}
    where locked_until = ${value('untilMs')}::bigint and lock_token = ${value('tokenPrefix')}::text || instance_id`;
}

function instanceRows(ctx: ProviderContext, range: ClaimMark['range']): SQL {
  return sql`${instanceOfI(range)}
    from won join ${ctx.tables.instances} i on i.instance_id = won.instance_id ${pinsOfI(ctx, range)}`;
}

function lastEvents({ tables }: ProviderContext): SQL {
  return sql`${eventOfH}
    from won join ${tables.instances} i on i.instance_id = won.instance_id
    cross join lateral (
      select e.*, row_number() over (order by e.event_id desc) as n from (
        select instance_id, execution_id, event_id, event_data from ${tables.history}
        where instance_id = i.instance_id and execution_id = i.current_execution_id
        order by event_id desc limit ${sql.raw(String(END_EVENTS))}
      ) e
    ) h where h.n = 1 or octet_length(h.event_data) <= ${sql.raw(String(LONG_EVENT_BYTES))}`;
}

/** Histories whose first acknowledgement named no orchestration (P:MX-2). */
function eventsWithoutRow({ tables }: ProviderContext): SQL {
  return sql`${eventOfH}
    from won join ${tables.history} h on h.instance_id = won.instance_id
    where not exists (select 1 from ${tables.instances} i where i.instance_id = won.instance_id)`;
}

/** Only that there are some: who goes on where he stood needs none of them. */
function keysThere({ tables }: ProviderContext): SQL {
  return sql`select 'keys', won.instance_id, null, null, null, null from won
    where exists (select 1 from ${tables.kvStore} s where s.instance_id = won.instance_id)`;
}

/**
 * What an item needs of an instance of which the end was read.
 * @returns `undefined` where the end is not enough, and the instance is to be loaded
 */
export function fromEnd(end: StoredInstance, held: HeldInstance | undefined): StoredInstance | undefined {
  const { row, events, hasKeys } = end;
  if (row !== undefined && held?.executionId === row.executionId) {
    // With the held event, everything behind it was read, too.
    const isHeldThere = (events[0]?.eventId ?? Infinity) <= held.lastEventId;
    const isBehindHeld = (events.at(-1)?.eventId ?? 0) < held.lastEventId;
    if (!isHeldThere && !isBehindHeld) return undefined;
    return { ...end, events: events.filter(({ eventId }) => eventId >= held.lastEventId) };
  }
  if (hasKeys) return undefined;
  const isWhole = row === undefined || events.length === 0 || events[0]?.eventId === FIRST_EVENT;
  return isWhole ? end : undefined;
}

/** Events are numbered from here on, in each execution. */
const FIRST_EVENT = 1;

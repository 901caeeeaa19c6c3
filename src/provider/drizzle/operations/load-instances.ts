import { type SQL, sql } from 'drizzle-orm';
import type { HeldInstance, KvEntry } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { type Cell, integerCell, type Statement, textCell } from '../statement.js';
import { kindOf } from './ready-rows.js';
import { isWithinRange, rangeValues, type VersionRange } from './version-range.js';

/** What the tables say about a locked instance, not parsed yet. */
export interface StoredInstance {
  /** Absent while no turn has been acknowledged. */
  row?: StoredInstanceRow;
  /** Stored events: those of the current execution, or from the held one on; without a row, of all executions. */
  readonly events: StoredEvent[];
  readonly kv: Map<string, KvEntry>;
  /** There are keys that were not read. */
  hasKeys?: boolean;
}

export interface StoredInstanceRow {
  readonly name: string;
  readonly version: string | null;
  readonly executionId: number;
  /** False when another runtime pinned it outside of the range after the peek. */
  readonly isWithinRange: boolean;
}

export interface StoredEvent {
  readonly executionId: number;
  readonly eventId: number;
  readonly text: string;
}

export interface LoadParams {
  readonly instances: readonly string[];
  readonly range: VersionRange | 'any';
  /** Of these or other instances. */
  readonly held: ReadonlyMap<string, HeldInstance>;
}

/** A row of the load: what it describes, and up to four facts. */
export interface LoadedRow {
  readonly kind: 'instance' | 'event' | 'kv' | 'keys';
  readonly instance: string;
  readonly facts: readonly Cell[];
}

/** The values of {@link loadStatement}. */
export function loadValues({ instances, range, held }: LoadParams): SqlValues {
  const heldIds = instances.filter((instance) => held.has(instance));
  const full = { instances, ...(range === 'any' ? {} : rangeValues(range)) };
  if (heldIds.length === 0) return full;
  const heldOnes = heldIds.map((instance) => held.get(instance) as HeldInstance);
  return {
    ...full,
    unheld: instances.filter((instance) => !held.has(instance)),
    held: heldIds,
    heldExecutions: heldOnes.map(({ executionId }) => executionId),
    heldEvents: heldOnes.map(({ lastEventId }) => lastEventId),
  };
}

/**
 * Everything about the claimed instances but their messages, in one statement. Always a
 * later one than the claim: another worker may have committed a turn in between, and
 * the claim's snapshot would show the history without it.
 */
export function loadStatement(ctx: ProviderContext, { instances, range, held }: LoadParams): Statement<LoadedRow> {
  const hasTails = instances.some((instance) => held.has(instance));
  const key = `fetch: load ${kindOf(range)}${hasTails ? ' with tails' : ''}`;
  return ctx.statement(key, () => sql.join(loadParts(ctx, range, hasTails), sql` union all `), loadedRow);
}

function loadParts(ctx: ProviderContext, range: VersionRange | 'any', hasTails: boolean): SQL[] {
  const always = [instanceRows(ctx, range), eventsWithoutRow(ctx)];
  if (!hasTails) return [...always, currentEvents(ctx, 'instances'), storedKv(ctx, 'instances')];
  return [
    ...always,
    currentEvents(ctx, 'unheld'),
    storedKv(ctx, 'unheld'),
    heldEvents(ctx),
    kvOfOtherExecutions(ctx),
  ];
}

const value = (name: string) => sql.placeholder(name);

/*
 * Lists of ids stand beside the joins (`= any`) wherever that says the same: with them
 * the planner looks the ids up in the primary key, where it would otherwise read all of
 * a table of some thousand rows.
 */

function instanceRows(ctx: ProviderContext, range: VersionRange | 'any'): SQL {
  return sql`${instanceOfI(range)}
    from ${ctx.tables.instances} i ${pinsOfI(ctx, range)}
    where i.instance_id = any(${value('instances')}::text[])`;
}

/** Selects the row of the instance `i`, and whether its pin is within the range, over {@link pinsOfI}. */
export function instanceOfI(range: VersionRange | 'any'): SQL {
  const isWithin = range === 'any' ? sql`'t'` : sql`case when ${isWithinRange()} then 't' else 'f' end`;
  return sql`select 'instance' as kind, i.instance_id, i.current_execution_id::text as a, i.orchestration_name as b,
      i.orchestration_version as c, ${isWithin} as d`;
}

/** Joins the pinned version of the instance `i`, where it matters. */
export function pinsOfI({ tables }: ProviderContext, range: VersionRange | 'any'): SQL {
  if (range === 'any') return sql``;
  return sql`left join ${tables.executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id`;
}

/** Selects the event `h`. */
export const eventOfH = sql`select 'event', h.instance_id, h.execution_id::text, h.event_id::text, h.event_data, null::text`;

function currentEvents({ tables }: ProviderContext, ids: string): SQL {
  return sql`${eventOfH}
    from ${tables.instances} i
    join ${tables.history} h on h.instance_id = i.instance_id and h.execution_id = i.current_execution_id
    where i.instance_id = any(${value(ids)}::text[])`;
}

/** Histories whose first acknowledgement named no orchestration (P:MX-2). */
function eventsWithoutRow({ tables }: ProviderContext): SQL {
  const ids = value('instances');
  return sql`${eventOfH}
    from unnest(${ids}::text[]) as u(instance_id)
    join ${tables.history} h on h.instance_id = u.instance_id
    where u.instance_id not in
      (select i.instance_id from ${tables.instances} i where i.instance_id = any(${ids}::text[]))`;
}

/** From the held event on; everything, if the instance has gone on to another execution. */
function heldEvents({ tables }: ProviderContext): SQL {
  return sql`${eventOfH}
    from unnest(${value('held')}::text[], ${value('heldExecutions')}::bigint[], ${value('heldEvents')}::bigint[])
      as u(instance_id, execution_id, event_id)
    join ${tables.instances} i on i.instance_id = u.instance_id
    join ${tables.history} h on h.instance_id = i.instance_id and h.execution_id = i.current_execution_id
      and h.event_id >= case when i.current_execution_id = u.execution_id then u.event_id else 0 end
    where i.instance_id = any(${value('held')}::text[])`;
}

function storedKv({ tables }: ProviderContext, ids: string): SQL {
  return sql`select 'kv', s.instance_id, s.key, s.value, s.last_updated_at_ms::text, null::text
    from ${tables.kvStore} s where s.instance_id = any(${value(ids)}::text[])`;
}

function kvOfOtherExecutions({ tables }: ProviderContext): SQL {
  return sql`select 'kv', s.instance_id, s.key, s.value, s.last_updated_at_ms::text, null::text
    from unnest(${value('held')}::text[], ${value('heldExecutions')}::bigint[]) as u(instance_id, execution_id)
    left join ${tables.instances} i on i.instance_id = u.instance_id
    join ${tables.kvStore} s on s.instance_id = u.instance_id
    where i.instance_id is null or i.current_execution_id <> u.execution_id`;
}

/** The row of a load, of whichever kind. */
export function loadedRow([kind, instance, ...facts]: readonly Cell[]): LoadedRow {
  return { kind: textCell(kind) as LoadedRow['kind'], instance: textCell(instance), facts };
}

/** The rows of the load, by instance; every asked instance has an entry. Events are in order. */
export function storedInstances(
  instances: readonly string[],
  rows: readonly LoadedRow[],
): ReadonlyMap<string, StoredInstance> {
  const all = new Map(instances.map((id): [string, StoredInstance] => [id, { events: [], kv: new Map() }]));
  for (const { kind, instance, facts } of rows) {
    const stored = all.get(instance);
    if (stored) addFacts(stored, kind, facts);
  }
  for (const { events } of all.values()) {
    events.sort((a, b) => a.executionId - b.executionId || a.eventId - b.eventId);
  }
  return all;
}

function addFacts(stored: StoredInstance, kind: LoadedRow['kind'], [a, b, c, d]: readonly Cell[]): void {
  switch (kind) {
    case 'instance':
      stored.row = {
        executionId: integerCell(a),
        name: textCell(b),
        version: c ?? null,
        isWithinRange: d === 't',
      };
      return;
    case 'event':
      stored.events.push({ executionId: integerCell(a), eventId: integerCell(b), text: textCell(c) });
      return;
    case 'kv':
      stored.kv.set(textCell(a), { value: textCell(b), lastUpdatedAtMs: integerCell(c) });
      return;
    case 'keys':
      stored.hasKeys = true;
      return;
  }
}

import { type SQL, sql } from 'drizzle-orm';
import type { CatchUp, Overlap, ScheduleDefinition, StoredSchedule } from '../../schedules.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { booleanCell, type Cell, integerCell, optionalIntegerCell, textCell } from '../statement.js';

const always = [
  's.schedule_id, s.orchestration, s.version, s.input, s.cron, s.time_zone, s.every_ms, s.anchor_ms, s.catch_up',
  's.max_catch_up, s.grace_ms, s.overlap, s.is_paused, s.problem, s.next_fire_ms, s.last_fire_ms, s.last_instance',
  's.fired_count, s.overlap_count, s.created_ms, s.updated_ms',
];

/**
 * The columns of {@link scheduleOf}, in its order, of the table `s`. Those of the start queue
 * are taken by name out of the whole row: where the migration that adds them has not come,
 * they are null and nothing fails, and where it comes they are read at once.
 */
export function scheduleColumns({ driver }: Pick<ProviderContext, 'driver'>): SQL {
  // pg-mem makes no JSON of rows; what it has was migrated a moment ago.
  const cell = (column: string) => (driver.kind === 'pg-mem' ? `s.${column}` : `to_jsonb(s) ->> '${column}'`);
  return sql.raw([...always, ...queueColumns.map(([name]) => cell(name))].join(', '));
}

export function scheduleOf(cells: readonly Cell[]): StoredSchedule {
  const at = (index: number) => cells[index];
  const optionalText = (index: number) => at(index) ?? null;
  return {
    id: textCell(at(0)),
    orchestration: textCell(at(1)),
    version: optionalText(2),
    input: textCell(at(3)),
    cron: optionalText(4),
    timeZone: textCell(at(5)),
    everyMs: optionalIntegerCell(at(6)),
    anchorMs: integerCell(at(7)),
    catchUp: textCell(at(8)) as CatchUp,
    maxCatchUp: integerCell(at(9)),
    graceMs: integerCell(at(10)),
    overlap: textCell(at(11)) as Overlap,
    isPaused: booleanCell(at(12)),
    problem: optionalText(13),
    nextFireMs: optionalIntegerCell(at(14)),
    lastFireMs: optionalIntegerCell(at(15)),
    lastInstance: optionalText(16),
    firedCount: integerCell(at(17)),
    overlapCount: integerCell(at(18)),
    createdMs: integerCell(at(19)),
    updatedMs: integerCell(at(20)),
    queue: optionalText(21),
    key: optionalText(22),
    priority: optionalIntegerCell(at(23)) ?? 0,
  };
}

type Column = readonly [name: string, type: string];

/** Columns of a definition, by {@link definitionValues}. */
const columns: readonly Column[] = [
  ['orchestration', 'text'],
  ['version', 'text'],
  ['input', 'text'],
  ['cron', 'text'],
  ['time_zone', 'text'],
  ['every_ms', 'bigint'],
  ['anchor_ms', 'bigint'],
  ['catch_up', 'text'],
  ['max_catch_up', 'int'],
  ['grace_ms', 'bigint'],
  ['overlap', 'text'],
];
const queueColumns: readonly Column[] = [
  ['start_queue', 'text'],
  ['start_key', 'text'],
  ['start_priority', 'int'],
];

/** What of a definition is written: the columns of the queue only where it, or what it replaces, has one. */
export function definitionColumns(withQueue: boolean): readonly Column[] {
  return withQueue ? [...columns, ...queueColumns] : columns;
}

/** `column = value` for each of {@link definitionColumns}. */
export function definitionAssignments(withQueue: boolean): SQL {
  return sql.join(
    definitionColumns(withQueue).map(([name, type]) => sql`${sql.raw(name)} = ${placeholderOf(name, type)}`),
    sql`, `,
  );
}

export function definitionPlaceholders(withQueue: boolean): SQL {
  return sql.join(
    definitionColumns(withQueue).map(([name, type]) => placeholderOf(name, type)),
    sql`, `,
  );
}

function placeholderOf(name: string, type: string): SQL {
  return sql`${sql.placeholder(name)}::${sql.raw(type)}`;
}

export function definitionValues(definition: ScheduleDefinition): SqlValues {
  return {
    orchestration: definition.orchestration,
    version: definition.version,
    input: definition.input,
    cron: definition.cron,
    time_zone: definition.timeZone,
    every_ms: definition.everyMs,
    anchor_ms: definition.anchorMs,
    catch_up: definition.catchUp,
    max_catch_up: definition.maxCatchUp,
    grace_ms: definition.graceMs,
    overlap: definition.overlap,
    start_queue: definition.queue,
    start_key: definition.key,
    start_priority: definition.queue === null ? null : definition.priority,
  };
}

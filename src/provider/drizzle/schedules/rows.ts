import { sql } from 'drizzle-orm';
import type { CatchUp, Overlap, ScheduleDefinition, StoredSchedule } from '../../schedules.js';
import type { SqlValues } from '../executor.js';
import { booleanCell, type Cell, integerCell, optionalIntegerCell, textCell } from '../statement.js';

/** The columns of {@link scheduleOf}, in its order. */
export const scheduleColumns = sql.raw(
  [
    'schedule_id, orchestration, version, input, cron, time_zone, every_ms, anchor_ms, catch_up, max_catch_up, grace_ms',
    'overlap, is_paused, problem, next_fire_ms, last_fire_ms, last_instance, fired_count, overlap_count, created_ms, updated_ms',
  ].join(', '),
);

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
  };
}

/** Placeholders of a definition, by {@link definitionValues}. */
export const definitionColumns = [
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
] as const;

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
  };
}

import type { ScheduleInfo } from '../client/schedules.js';
import type { CliContext } from './context.js';
import { durationText, momentText, payloadText, withoutControls } from './output/text.js';

/** A schedule in JSON: moments in Unix ms, as everywhere in the answers of the command line. */
export function scheduleDocument(schedule: ScheduleInfo) {
  const { nextFireAt, lastFireAt, createdAt, updatedAt, ...rest } = schedule;
  return {
    ...rest,
    nextFireAtMs: nextFireAt?.getTime() ?? null,
    lastFireAtMs: lastFireAt?.getTime() ?? null,
    createdAtMs: createdAt.getTime(),
    updatedAtMs: updatedAt.getTime(),
  };
}

/** The times of a schedule: `0 2 * * * Europe/Berlin`, `every 5 min`. */
export function timesText({ cron, timeZone, everyMs }: ScheduleInfo): string {
  return cron === null ? `every ${durationText(everyMs ?? 0)}` : `${cron} ${timeZone}`;
}

export function stateText({ isPaused, problem, nextFireAt }: ScheduleInfo): string {
  if (problem !== null) return isPaused ? `paused: ${problem}` : problem;
  if (isPaused) return 'paused';
  return nextFireAt === null ? 'over' : 'active';
}

const HEADINGS = ['SCHEDULE', 'ORCHESTRATION', 'TIMES', 'NEXT FIRE', 'LAST FIRE', 'FIRED', 'STATE'];

export function printSchedules({ print }: CliContext, schedules: readonly ScheduleInfo[]): void {
  print.table(
    HEADINGS,
    schedules.map((schedule) => [
      schedule.id,
      orchestrationText(schedule),
      timesText(schedule),
      dateText(schedule.nextFireAt),
      dateText(schedule.lastFireAt),
      String(schedule.firedCount),
      stateText(schedule),
    ]),
    { canMiss: ['FIRED', 'LAST FIRE', 'ORCHESTRATION'] },
  );
}

/** @param upcoming the next fire times, Unix ms */
export function printSchedule(
  { print }: CliContext,
  schedule: ScheduleInfo,
  { upcoming, lastStatus, inputLength }: ShownSchedule,
): void {
  const { yellow, bold, red } = print.colors;
  const line = (name: string, value: string) => print.line(`  ${name.padEnd(15)}${withoutControls(value)}`);
  const state = withoutControls(stateText(schedule));
  const paint = schedule.problem !== null ? red : schedule.isPaused ? yellow : (text: string) => text;
  print.line(`${bold(withoutControls(schedule.id))}  ${paint(state)}`);
  line('orchestration', orchestrationText(schedule));
  line('input', payloadText(JSON.stringify(schedule.input) ?? 'null', inputLength));
  line('times', timesText(schedule));
  line('catch-up', catchUpText(schedule));
  line('overlap', schedule.overlap === 'allow' ? 'allow' : `skip (${schedule.overlapCount} left out so far)`);
  if (schedule.queue !== null) line('queue', queueText(schedule));
  line('fired', `${schedule.firedCount}, last ${dateText(schedule.lastFireAt)}`);
  if (schedule.lastInstanceId !== null)
    line('last instance', `${schedule.lastInstanceId}  ${lastStatus ?? ''}`.trimEnd());
  line('created', dateText(schedule.createdAt));
  line('updated', dateText(schedule.updatedAt));
  if (upcoming.length === 0) return;
  print.line(`\n${bold('Next fires')}`);
  for (const atMs of upcoming) print.line(`  ${momentText(atMs)}${localText(schedule, atMs)}`);
}

export interface ShownSchedule {
  /** The next fire times, Unix ms. */
  readonly upcoming: readonly number[];
  /** Of the instance started last, where it is known. */
  readonly lastStatus: string | undefined;
  readonly inputLength: number;
}

function orchestrationText({ orchestration, version }: ScheduleInfo): string {
  return version === null ? orchestration : `${orchestration} ${version}`;
}

function catchUpText({ catchUp, maxCatchUp, graceMs }: ScheduleInfo): string {
  if (catchUp === 'all') return `all, at most ${maxCatchUp}`;
  return catchUp === 'skip' ? `skip, unless late by at most ${durationText(graceMs)}` : 'one: the latest';
}

function queueText({ queue, key, priority }: ScheduleInfo): string {
  const parts = [
    queue ?? '',
    ...(key === null ? [] : [`key ${key}`]),
    ...(priority === 0 ? [] : [`priority ${priority}`]),
  ];
  return parts.join(', ');
}

/** What the clocks of the schedule show, where they are others. */
function localText({ cron, timeZone }: ScheduleInfo, atMs: number): string {
  if (cron === null || timeZone === 'UTC') return '';
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(atMs);
  return `  ${local} ${timeZone}`;
}

function dateText(date: Date | null): string {
  return date === null ? '-' : momentText(date.getTime());
}

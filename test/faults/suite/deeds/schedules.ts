import type { ScheduleInfo } from '../../../../src/index.js';
import { persist } from '../persist.js';
import { type Deed, type Instances, type Stage } from './deed.js';

/** The shortest that there is. */
const EVERY_MS = 1_000;
const STEADY = 'steady';
const MOODY = 'moody';

/**
 * Two schedules. One fires all the time and catches up whatever it missed: each of its times
 * has exactly one instance. The other one is paused, resumed, changed and triggered meanwhile:
 * it counts as many fires as it has instances. Each instance does its work once.
 */
export class ScheduleFires implements Deed {
  private readonly triggered: string[] = [];
  private calmSinceMs: number | undefined;
  private isDone = false;
  private ended: readonly ScheduleInfo[] = [];

  constructor(private readonly stage: Stage) {}

  async begin(number: number): Promise<void> {
    const { schedules } = this.stage.client;
    if (number === 0) {
      const options = { orchestration: 'tick', everyMs: EVERY_MS, catchUp: 'all', maxCatchUp: 1_000 } as const;
      for (const id of [STEADY, MOODY]) {
        await persist(() => schedules.create({ id, ...options, ifExists: 'update' }));
      }
      return;
    }
    await persist(() => schedules.pause(MOODY));
    // Repeated after a lost answer it may have happened twice: both instances are real, and counted.
    const { value } = await persist(() => schedules.trigger(MOODY));
    this.triggered.push(value);
    await persist(() => schedules.update(MOODY, { maxCatchUp: 500 + (number % 2) }));
    await persist(() => schedules.resume(MOODY));
  }

  async tend(): Promise<void> {
    if (this.calmSinceMs === undefined || this.isDone) return;
    const { schedules } = this.stage.client;
    const { value: steady } = await persist(() => schedules.get(STEADY));
    // Caught up, and fired once more since the last fault.
    if ((steady.lastFireAt?.getTime() ?? 0) < this.calmSinceMs) return;
    for (const id of [STEADY, MOODY]) await persist(() => schedules.pause(id));
    this.ended = (await persist(() => schedules.list())).value;
    this.isDone = true;
  }

  /** No more faults: what was missed may be caught up, and then it is enough. */
  calm(): void {
    this.calmSinceMs = this.stage.provider.nowMs();
  }

  open(): readonly string[] {
    return this.isDone ? [] : [STEADY, MOODY];
  }

  async problems(instances: Instances): Promise<string[]> {
    const problems: string[] = [];
    for (const { id, firedCount, problem, lastFireAt } of this.ended) {
      if (problem !== null) problems.push(`schedule ${id} was paused: ${problem}`);
      const own = [...instances.values()].filter(({ instance_id }) => instance_id.startsWith(`${id}@`));
      if (firedCount !== own.length)
        problems.push(`schedule ${id} fired ${firedCount} times, and has ${own.length} instances`);
      for (const { instance_id, status, output } of own) {
        if (status !== 'Completed') problems.push(`${instance_id} is ${status} with ${output}`);
      }
      if (id === STEADY)
        problems.push(
          ...missingTimes(
            own.map(({ instance_id }) => instance_id),
            lastFireAt,
          ),
        );
    }
    for (const id of this.triggered) if (!instances.has(id)) problems.push(`${id} was triggered, and is not there`);
    return [...problems, ...(await this.unevenWork(instances))];
  }

  private async unevenWork(instances: Instances): Promise<string[]> {
    const ids = [...instances.keys()].filter((id) => id.startsWith(`${STEADY}@`) || id.startsWith(`${MOODY}@`));
    const rows = await this.stage.administrator.query<{ key: string; n: number }>(
      `select key, count(*)::int as n from "${this.stage.appSchema}".ledger where key = any($1) group by key`,
      [ids],
    );
    const counts = new Map(rows.map(({ key, n }) => [key, n]));
    return ids.filter((id) => counts.get(id) !== 1).map((id) => `${id} did its work ${counts.get(id) ?? 0} times`);
  }
}

/** Times between the first and the last fire that have no instance, or that are none of the schedule. */
function missingTimes(ids: readonly string[], lastFireAt: Date | null): string[] {
  const times = new Set(ids.map((id) => Date.parse(id.slice(id.indexOf('@') + 1))));
  const [firstMs, lastMs] = [Math.min(...times), Math.max(...times)];
  const problems: string[] = [];
  for (let atMs = firstMs; atMs <= lastMs; atMs += EVERY_MS) {
    if (!times.delete(atMs)) problems.push(`schedule ${STEADY} did not fire at ${new Date(atMs).toISOString()}`);
  }
  for (const atMs of times)
    problems.push(`schedule ${STEADY} fired at ${new Date(atMs).toISOString()}, which is none of its times`);
  if (lastFireAt?.getTime() !== lastMs)
    problems.push(`schedule ${STEADY} fired last at ${lastFireAt?.toISOString()} by its row`);
  return problems;
}

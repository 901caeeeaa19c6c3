import { randomUUID } from 'node:crypto';
import { UnsupportedError } from '../provider/provider-error.js';
import type { Provider } from '../provider/provider.js';
import type { ScheduleDefinition, ScheduleStore, StoredSchedule } from '../provider/schedules.js';
import { instanceOfFire, startOf } from '../schedule/decide.js';
import {
  checkedScheduleId,
  nextFireOf,
  resolveSchedule,
  ScheduleError,
  type ScheduleTiming,
} from '../schedule/definition.js';
import { checkAgainstNow } from '../wire/standard-schema.js';
import { nameArgument, payloadArgument, stringArgument } from './arguments.js';
import { checkedDefinition } from './checked-definition.js';
import type { OrchestrationReference } from './definition.js';
import { checkedVersion } from './start-options.js';
import { checkedKey, checkedPriority, checkedQueueId } from './start-queue-limits.js';
import { startQueueStore, unknownQueue } from './start-queues.js';

/** A schedule to be created. */
export interface ScheduleOptions<In = unknown> extends ScheduleTiming {
  /** The schedule's own id, and the beginning of the ids of its instances. */
  readonly id: string;
  /** What is started: a definition, or the name of an orchestration. */
  readonly orchestration: OrchestrationReference<In, unknown> | string;
  /** What each instance gets. */
  readonly input?: In | undefined;
  /** Absent: the definition's; if it has none, what the registry's policy names. */
  readonly version?: string | undefined;
  /**
   * A start queue that its instances go through, whose limits say when they begin; see
   * `client.startQueues`. Absent: they begin as soon as a runtime takes them.
   */
  readonly queue?: string | undefined;
  /** What limits per key of the {@link queue} count together. Absent: they do not apply. */
  readonly key?: string | undefined;
  /** Higher is earlier in the {@link queue}. From -1,000,000 to 1,000,000. @defaultValue `0` */
  readonly priority?: number | undefined;
  /** Create it without firing until {@link Schedules.resume}. @defaultValue `false` */
  readonly paused?: boolean | undefined;
  /**
   * What happens when there is a schedule of this id: `error` throws; `update` gives it
   * these options, as {@link Schedules.update} does, so that a program may create its
   * schedules at each start. @defaultValue `error`
   */
  readonly ifExists?: 'error' | 'update' | undefined;
}

/** What may be changed of a schedule; what is absent stays. */
export interface ScheduleChanges<In = unknown> extends Omit<
  Partial<ScheduleOptions<In>>,
  'id' | 'ifExists' | 'paused' | 'queue' | 'key'
> {
  /** `null`: past queues, from the next fire on. */
  readonly queue?: string | null | undefined;
  readonly key?: string | null | undefined;
}

/** A schedule as it stands. */
export interface ScheduleInfo {
  readonly id: string;
  readonly orchestration: string;
  readonly version: string | null;
  /** `undefined` also where a codec cannot decode it; {@link problem} says so. */
  readonly input: unknown;
  /** `null` for an interval. */
  readonly cron: string | null;
  readonly timeZone: string;
  /** `null` for a cron expression. */
  readonly everyMs: number | null;
  readonly catchUp: ScheduleDefinition['catchUp'];
  readonly maxCatchUp: number;
  readonly graceMs: number;
  readonly overlap: ScheduleDefinition['overlap'];
  /** The start queue that its instances go through; `null`: none. */
  readonly queue: string | null;
  readonly key: string | null;
  readonly priority: number;
  readonly isPaused: boolean;
  /** Why a runtime paused it, or why its input cannot be decoded; `null` when nothing is wrong. */
  readonly problem: string | null;
  /** `null` while it is paused, and when nothing is left to fire. */
  readonly nextFireAt: Date | null;
  readonly lastFireAt: Date | null;
  /** The instance started last, by time or by {@link Schedules.trigger}. */
  readonly lastInstanceId: string | null;
  readonly firedCount: number;
  /** Fires left out by `overlap: 'skip'`. */
  readonly overlapCount: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * Schedules: orchestrations that are started at certain times, by whichever runtime is
 * there. Each fire time starts one instance, `<schedule id>@<time in ISO 8601>`, however
 * many processes run.
 *
 * Every method throws an `UnsupportedError` with advice where the store keeps no schedules.
 */
export class Schedules {
  /** @internal use `client.schedules` */
  constructor(
    private readonly provider: Provider,
    private readonly maxPayloadBytes: number,
  ) {}

  /**
   * @throws ScheduleError for what cannot be meant, and for an id that exists; SchemaValidationError
   *   for the input; StartQueueError for a queue, key or priority that cannot be meant, and an unknown queue
   */
  async create<In>(options: ScheduleOptions<In>): Promise<ScheduleInfo> {
    const id = checkedScheduleId(options.id);
    const { ifExists = 'error' } = options;
    if (ifExists !== 'error' && ifExists !== 'update') {
      throw new ScheduleError(id, `ifExists must be 'error' or 'update', got '${String(ifExists)}'`);
    }
    const nowMs = this.provider.nowMs();
    const target = { ...this.targetOf(id, options), ...placementOf(id, options, NO_QUEUE) };
    const definition = resolveSchedule(id, target, options, nowMs);
    await this.requireQueue(definition.queue);
    const { paused: isPaused = false } = options;
    const nextFireMs = isPaused ? null : nextFireOf(id, definition, nowMs);
    const isAdded = await this.store().add(id, definition, { isPaused, nextFireMs });
    if (isAdded) return this.get(id);
    if (ifExists === 'error')
      throw new ScheduleError(id, "it exists already; change it by update, or pass ifExists: 'update'");
    return this.change(id, () => definition);
  }

  /**
   * Changes a schedule. Where the times stay the same the next fire stays, too; new times
   * count from now. @throws as {@link create}; ScheduleError for an unknown id
   */
  async update<In>(id: string, changes: ScheduleChanges<In>): Promise<ScheduleInfo> {
    checkedScheduleId(id);
    if (typeof changes.queue === 'string') await this.requireQueue(checkedQueueId(changes.queue));
    return this.change(id, (stored, nowMs) => {
      const started = 'orchestration' in changes ? this.targetOf(id, changes) : this.changedTarget(id, stored, changes);
      const target = { ...started, ...placementOf(id, changes, stored) };
      const times = changedTimes(stored, changes);
      const { catchUp, maxCatchUp, graceMs, overlap } = { ...stored, ...given(changes, BEHAVIOUR) };
      return resolveSchedule(id, target, { ...times, catchUp, maxCatchUp, graceMs, overlap }, nowMs);
    });
  }

  /** Stops firing. What comes due meanwhile is left out for good. @throws ScheduleError for an unknown id */
  async pause(id: string): Promise<void> {
    await this.set(id, (stored) => ({ ...stored, isPaused: true, nextFireMs: null }));
  }

  /** Fires again, from now on. @throws ScheduleError for an unknown id */
  async resume(id: string): Promise<void> {
    await this.set(id, (stored, nowMs) => {
      if (!stored.isPaused) return stored;
      return { ...stored, isPaused: false, problem: null, nextFireMs: nextFireOf(id, stored, nowMs) };
    });
  }

  /**
   * Starts an instance now, whether or not it is paused or one runs; its times stay as they
   * are. One with a queue goes through its queue. @returns the id of the instance
   * @throws ScheduleError for an unknown id; StartQueueError when its queue is not there
   */
  async trigger(id: string): Promise<string> {
    await this.requireQueue((await this.get(id)).queue);
    const instance = `${instanceOfFire(checkedScheduleId(id), this.provider.nowMs())}+${randomUUID()}`;
    const started = await this.store().change(id, (stored) => ({
      starts: [startOf(stored, instance)],
      overlaps: 0,
      after: { ...stored, lastInstance: instance },
    }));
    if (!started) throw unknown(id);
    return instance;
  }

  /** Removes a schedule; its instances stay. @returns whether there was one */
  async delete(id: string): Promise<boolean> {
    return this.store().remove(checkedScheduleId(id));
  }

  /** @throws ScheduleError for an unknown id */
  async get(id: string): Promise<ScheduleInfo> {
    const stored = await this.store().find(checkedScheduleId(id));
    if (!stored) throw unknown(id);
    return viewSchedule(stored);
  }

  /** All of them, by id. */
  async list(): Promise<ScheduleInfo[]> {
    return (await this.store().list()).map(viewSchedule);
  }

  private async change(
    id: string,
    define: (stored: StoredSchedule, nowMs: number) => ScheduleDefinition,
  ): Promise<ScheduleInfo> {
    const changed = await this.store().change(id, (stored, { nowMs }) => {
      const defined = define(stored, nowMs);
      const isSameTimes = SAME_TIMES.every((field) => defined[field] === stored[field]);
      const definition = isSameTimes ? { ...defined, anchorMs: stored.anchorMs } : defined;
      const nextFireMs = stored.isPaused || isSameTimes ? stored.nextFireMs : nextFireOf(id, definition, nowMs);
      return { starts: [], overlaps: 0, definition, after: { ...stored, nextFireMs } };
    });
    if (!changed) throw unknown(id);
    return this.get(id);
  }

  private async set(id: string, after: (stored: StoredSchedule, nowMs: number) => StoredSchedule): Promise<void> {
    const changed = await this.store().change(checkedScheduleId(id), (stored, { nowMs }) => ({
      starts: [],
      overlaps: 0,
      after: after(stored, nowMs),
    }));
    if (!changed) throw unknown(id);
  }

  /** @throws StartQueueError, UnsupportedError */
  private async requireQueue(queue: string | null): Promise<void> {
    if (queue !== null && !(await startQueueStore(this.provider).find(queue))) throw unknownQueue(queue);
  }

  private targetOf(id: string, options: ScheduleChanges): Started {
    const { orchestration, input, version } = options;
    if (orchestration === '') {
      throw new ScheduleError(id, "expected an orchestration: a definition or its name, got ''");
    }
    if (typeof orchestration === 'string') {
      const name = nameArgument('orchestration name', orchestration);
      return { orchestration: name, version: versionOf(name, version), input: this.payload(id, input) };
    }
    if (orchestration === undefined) throw new ScheduleError(id, 'expected an orchestration: a definition or its name');
    const { name, options: declared } = checkedDefinition(orchestration, ['orchestration']);
    checkAgainstNow(declared.input, input, { definition: `orchestration '${name}'`, part: 'input' });
    return {
      orchestration: name,
      version: versionOf(name, version ?? declared.version),
      input: this.payload(id, input),
    };
  }

  private changedTarget(id: string, stored: StoredSchedule, { input, version }: ScheduleChanges): Started {
    return {
      orchestration: stored.orchestration,
      version: version === undefined ? stored.version : versionOf(stored.orchestration, version),
      input: input === undefined ? stored.input : this.payload(id, input),
    };
  }

  private payload(id: string, input: unknown): string {
    return payloadArgument(`the input of schedule '${id}'`, input, this.maxPayloadBytes);
  }

  private store(): ScheduleStore {
    const store = this.provider.schedules?.();
    if (store) return store;
    throw new UnsupportedError(`${this.provider.name()} keeps no schedules; use a DrizzleProvider`);
  }
}

type Started = Pick<ScheduleDefinition, 'orchestration' | 'version' | 'input'>;
type Placement = Pick<ScheduleDefinition, 'queue' | 'key' | 'priority'>;
const NO_QUEUE: Placement = { queue: null, key: null, priority: 0 };

/** The start queue by what was given, over what was there. @throws ScheduleError, StartQueueError */
function placementOf(id: string, options: ScheduleChanges, before: Placement): Placement {
  const queue = options.queue === undefined ? before.queue : options.queue;
  if (queue === null) {
    const given = (['key', 'priority'] as const).find((field) => (options[field] ?? null) !== null);
    if (given === undefined) return NO_QUEUE;
    throw new ScheduleError(id, `${given} means nothing without a queue: name one, or leave it out`);
  }
  const { key = before.key, priority = before.priority } = options;
  return {
    queue: checkedQueueId(queue),
    key: checkedKey(queue, key ?? undefined),
    priority: checkedPriority(queue, priority),
  };
}

const BEHAVIOUR = ['catchUp', 'maxCatchUp', 'graceMs', 'overlap'] as const;
const SAME_TIMES = ['cron', 'timeZone', 'everyMs'] as const;

type Times = Pick<ScheduleTiming, 'cron' | 'everyMs' | 'timeZone'>;

/** A new expression is meant on the clocks of the old one, unless a time zone comes along. */
function changedTimes(stored: StoredSchedule, { cron, everyMs, timeZone }: ScheduleChanges): Times {
  const zone = timeZone ?? (stored.cron === null ? undefined : stored.timeZone);
  if (everyMs !== undefined) return { cron, everyMs, timeZone };
  if (cron !== undefined) return { cron, timeZone: zone };
  return stored.cron === null
    ? { everyMs: stored.everyMs ?? undefined, timeZone }
    : { cron: stored.cron, timeZone: zone };
}

/** Those of the fields that were given. */
function given<T extends object, K extends keyof T>(options: T, fields: readonly K[]): Partial<Pick<T, K>> {
  const entries = fields.filter((field) => options[field] !== undefined).map((field) => [field, options[field]]);
  return Object.fromEntries(entries) as Partial<Pick<T, K>>;
}

function versionOf(orchestration: string, version: string | undefined): string | null {
  return version === undefined ? null : checkedVersion(orchestration, stringArgument('version', version));
}

function unknown(id: string): ScheduleError {
  return new ScheduleError(id, 'there is no schedule of this id');
}

function viewSchedule({
  nextFireMs,
  lastFireMs,
  lastInstance,
  createdMs,
  updatedMs,
  ...stored
}: StoredSchedule): ScheduleInfo {
  const { id, orchestration, version, cron, timeZone, everyMs, catchUp, maxCatchUp, graceMs, overlap } = stored;
  const { queue, key, priority, isPaused, unreadable, firedCount, overlapCount } = stored;
  const problem = stored.problem ?? unreadable?.reason ?? null;
  return {
    ...{ queue, key, priority },
    ...{ id, orchestration, version, cron, timeZone, everyMs, catchUp, maxCatchUp, graceMs, overlap },
    ...{ isPaused, problem, firedCount, overlapCount },
    input: unreadable ? undefined : (JSON.parse(stored.input) as unknown),
    nextFireAt: dateOf(nextFireMs),
    lastFireAt: dateOf(lastFireMs),
    lastInstanceId: lastInstance,
    createdAt: new Date(createdMs),
    updatedAt: new Date(updatedMs),
  };
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

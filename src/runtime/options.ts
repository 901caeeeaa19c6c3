import type { Clock } from '../base/clock.js';
import { monotonicClock } from '../base/monotonic-clock.js';
import type { Logger } from '../base/logger.js';
import { consoleLogger, guardedLogger } from '../base/logger.js';
import { ArgumentError } from '../client/errors.js';
import type { TagFilter, VersionFilter } from '../provider/provider.js';
import type { Telemetry } from '../provider/telemetry.js';
import type { SemVer } from '../wire/compat-version.js';
import { COMPAT_VERSION, compareSemVer, parseSemVer } from '../wire/compat-version.js';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../wire/limits.js';
import type { WorkerTagFilter } from './tag-filter-option.js';
import { resolveTagFilter } from './tag-filter-option.js';
import { isLogLevel } from './tracing/trace-filter.js';
import { TRACE_LEVELS } from './tracing/trace-record.js';
import { typeName } from '../base/type-name.js';

/** Who renews locks, see {@link RuntimeOptions.lockRenewal}. */
export type LockRenewal = 'event-loop' | 'worker-thread';

/** How traces are written. */
export type LogFormat = 'json' | 'pretty' | 'compact';

/**
 * How a runtime works. Every option may be left out; durations are milliseconds.
 * Unknown options are ignored and fractions cut off, as in native.
 */
export interface RuntimeOptions {
  /** Turns that may run or wait for their acknowledgement; 0 turns the orchestration side off. @defaultValue `100` */
  orchestrationConcurrency?: number;
  /** Activity handlers that may *run* at once; 0 makes this an orchestrator only. @defaultValue `32` */
  workerConcurrency?: number;
  /** First wait when there is nothing to do; backs off to `maxPollIntervalMs`. @defaultValue `100` */
  dispatcherPollIntervalMs?: number;
  /** Other spelling of `dispatcherPollIntervalMs`, which wins. */
  dispatcherMinPollIntervalMs?: number;
  /**
   * Longest idle wait.
   * @defaultValue `1_000`; `100` in a schema shared with native workers without notify triggers, whose enqueues only polling finds
   */
  maxPollIntervalMs?: number;
  /** Accepted for native's sake: our providers answer at once. @defaultValue `30_000` */
  dispatcherLongPollTimeoutMs?: number;
  /** How long a turn may hold its instance without renewal. @defaultValue `5_000` */
  orchestratorLockTimeoutMs?: number;
  /** May only make a renewal earlier than a third of the lock time. @defaultValue `2_000` */
  orchestratorLockRenewalBufferMs?: number;
  /** How long an activity holds its row without renewal; a dead worker's work waits for so long. @defaultValue `30_000` */
  workerLockTimeoutMs?: number;
  /** As `orchestratorLockRenewalBufferMs`. @defaultValue `5_000` */
  workerLockRenewalBufferMs?: number;
  /**
   * Who renews the locks of turns, activities and sessions. `'worker-thread'` goes on while the event loop is
   * blocked; it needs a PostgreSQL server and takes one connection more. Every write is fenced with either.
   * @defaultValue `'event-loop'`
   */
  lockRenewal?: LockRenewal;
  /**
   * With `lockRenewal: 'worker-thread'`: how long the event loop may be blocked before its locks are given up, so
   * that a process that hangs for ever does not keep its work. @defaultValue `300_000`
   */
  maxEventLoopBlockMs?: number;
  /** How long names that nobody registered are put off: `baseDelayMs` doubling up to `maxDelayMs`. @defaultValue 1_000 and 60_000 */
  unregisteredBackoff?: { baseDelayMs?: number; maxDelayMs?: number };
  /** Fetches of a message before it is given up as poison. @defaultValue `10` */
  maxAttempts?: number;
  /** From this attempt on a turn or an activity runs alone in its process, so that one that kills it takes no others along. @defaultValue `3` */
  suspectAttempts?: number;
  /** How long a cancelled activity may take to end before its slot is freed. @defaultValue `10_000` */
  activityCancellationGracePeriodMs?: number;
  /** Levels of duroxide whose instances this runtime runs, `{ min, max }`, both inclusive. @defaultValue `0.0.0` to our level */
  supportedReplayVersions?: { min: string; max: string };
  /** @defaultValue `30_000` */
  sessionLockTimeoutMs?: number;
  /** As `orchestratorLockRenewalBufferMs`. @defaultValue `5_000` */
  sessionLockRenewalBufferMs?: number;
  /** A session without activity is released after so long. @defaultValue `300_000` */
  sessionIdleTimeoutMs?: number;
  /** How often sessions that nobody uses are swept. @defaultValue `300_000` */
  sessionCleanupIntervalMs?: number;
  /** Sessions with running activities in this runtime. @defaultValue `10` */
  maxSessionsPerRuntime?: number;
  /** Stable identity: session owner, and suffix of `workerId`. @defaultValue new at each start */
  workerNodeId?: string;
  /** Which activities this runtime takes. @defaultValue `'defaultOnly'` */
  workerTagFilter?: WorkerTagFilter;
  /** Tags for the spellings `workerTagFilter: 'tags' | 'defaultAnd'`. */
  workerTagFilterTags?: string[];
  /** Live executions kept between turns; 0 replays every turn from the start. @defaultValue `1_000` */
  warmInstances?: number;
  /** Bytes that they may hold, roughly; 0 as above. @defaultValue 64 MiB */
  warmBytes?: number;
  /** After each warm turn replay cold and compare; a difference is an error. For tests: it is slow. @defaultValue `false` */
  verifyWarm?: boolean;
  /**
   * Development check: warn once for each typed orchestration that calls `Date.now()`,
   * `new Date()`, `Math.random()` or `crypto.randomUUID()` in a turn. While the runtime runs,
   * these globals are replaced by watched ones. @defaultValue `true` when `NODE_ENV` is `development`
   */
  warnRawCalls?: boolean;
  /** Largest payload that an activity or a turn may write, in bytes of its JSON text. @defaultValue 32 MiB */
  maxPayloadBytes?: number;
  /** @defaultValue `'pretty'` */
  logFormat?: string;
  /** Lowest level of traces of user code that are written. @defaultValue `'info'` */
  logLevel?: string;
  /** Label of traces. @defaultValue `'duroxide'` */
  serviceName?: string;
  serviceVersion?: string;
  /** Native's grouping of the log settings; the flat options win. */
  observability?: {
    logFormat?: string;
    logLevel?: string;
    serviceName?: string;
    serviceVersion?: string;
    gaugePollIntervalMs?: number;
  };
  /** Where the library itself reports. @defaultValue warnings and errors on stderr */
  logger?: Logger;
  /** Spans and metrics; made by `duroxide-drizzle/otel`. @defaultValue none, which costs nothing */
  telemetry?: Telemetry;
  /** Measures pauses and deadlines; what is stored is stamped by the provider. */
  clock?: Clock;
}

/** All options with their values, checked. */
export interface ResolvedRuntimeOptions {
  readonly orchestrationConcurrency: number;
  readonly workerConcurrency: number;
  readonly pollIntervalMs: number;
  /** `undefined`: depends on the schema, see {@link RuntimeOptions.maxPollIntervalMs}. */
  readonly maxPollIntervalMs: number | undefined;
  readonly orchestratorLockTimeoutMs: number;
  readonly orchestratorLockRenewalBufferMs: number;
  readonly workerLockTimeoutMs: number;
  readonly workerLockRenewalBufferMs: number;
  readonly lockRenewal: LockRenewal;
  readonly maxEventLoopBlockMs: number;
  readonly unregisteredBaseDelayMs: number;
  readonly unregisteredMaxDelayMs: number;
  readonly maxAttempts: number;
  readonly suspectAttempts: number;
  readonly activityCancellationGracePeriodMs: number;
  readonly supportedReplayVersions: { readonly min: SemVer; readonly max: SemVer };
  readonly sessionLockTimeoutMs: number;
  readonly sessionLockRenewalBufferMs: number;
  readonly sessionIdleTimeoutMs: number;
  readonly sessionCleanupIntervalMs: number;
  readonly maxSessionsPerRuntime: number;
  readonly workerNodeId: string | undefined;
  readonly tagFilter: TagFilter;
  readonly warmInstances: number;
  readonly warmBytes: number;
  readonly verifyWarm: boolean;
  readonly warnRawCalls: boolean;
  readonly maxPayloadBytes: number;
  readonly logFormat: LogFormat;
  readonly logLevel: string;
  readonly serviceName: string;
  readonly serviceVersion: string | undefined;
  readonly gaugePollIntervalMs: number;
  readonly logger: Logger;
  readonly telemetry: Telemetry | undefined;
  readonly clock: Clock;
}

/** Longest duration that any option accepts: 1,000 years. */
const MAX_DURATION_MS = 31_556_952_000_000;

/**
 * Fills in the defaults.
 * @throws ArgumentError for an option of the wrong type, with native's code; RangeError for an impossible value.
 *   Both name the option.
 */
export function resolveRuntimeOptions(given: RuntimeOptions | null | undefined): ResolvedRuntimeOptions {
  const options = new OptionReader((given ?? {}) as Record<string, unknown>);
  const observability = options.group('observability');
  const backoff = options.group('unregisteredBackoff');
  return {
    orchestrationConcurrency: options.count('orchestrationConcurrency', 100, 0),
    workerConcurrency: options.count('workerConcurrency', 32, 0),
    pollIntervalMs: options.duration(
      'dispatcherPollIntervalMs',
      options.duration('dispatcherMinPollIntervalMs', 100, 1),
      1,
    ),
    maxPollIntervalMs: options.has('maxPollIntervalMs') ? options.duration('maxPollIntervalMs', 0, 1) : undefined,
    orchestratorLockTimeoutMs: options.duration('orchestratorLockTimeoutMs', 5_000, 1),
    orchestratorLockRenewalBufferMs: options.duration('orchestratorLockRenewalBufferMs', 2_000, 0),
    workerLockTimeoutMs: options.duration('workerLockTimeoutMs', 30_000, 1),
    workerLockRenewalBufferMs: options.duration('workerLockRenewalBufferMs', 5_000, 0),
    lockRenewal: lockRenewal(options.text('lockRenewal', 'event-loop')),
    maxEventLoopBlockMs: options.duration('maxEventLoopBlockMs', 300_000, 1),
    unregisteredBaseDelayMs: backoff.duration('baseDelayMs', 1_000, 0),
    unregisteredMaxDelayMs: backoff.duration('maxDelayMs', 60_000, 0),
    maxAttempts: options.count('maxAttempts', 10, 1),
    suspectAttempts: options.count('suspectAttempts', 3, 1),
    activityCancellationGracePeriodMs: options.duration('activityCancellationGracePeriodMs', 10_000, 0),
    supportedReplayVersions: replayVersions(options),
    sessionLockTimeoutMs: options.duration('sessionLockTimeoutMs', 30_000, 1),
    sessionLockRenewalBufferMs: options.duration('sessionLockRenewalBufferMs', 5_000, 0),
    sessionIdleTimeoutMs: options.duration('sessionIdleTimeoutMs', 300_000, 0),
    sessionCleanupIntervalMs: options.duration('sessionCleanupIntervalMs', 300_000, 1),
    maxSessionsPerRuntime: options.count('maxSessionsPerRuntime', 10, 0),
    workerNodeId: options.text('workerNodeId', undefined),
    tagFilter: resolveTagFilter(options.raw('workerTagFilter'), options.raw('workerTagFilterTags')),
    warmInstances: options.count('warmInstances', 1_000, 0),
    warmBytes: options.count('warmBytes', 64 * 1024 * 1024, 0),
    verifyWarm: options.flag('verifyWarm', false),
    warnRawCalls: options.flag('warnRawCalls', process.env['NODE_ENV'] === 'development'),
    maxPayloadBytes: options.count('maxPayloadBytes', DEFAULT_MAX_PAYLOAD_BYTES, 1),
    logFormat: logFormat(options.text('logFormat', observability.text('logFormat', 'pretty'))),
    logLevel: logLevel(options.text('logLevel', observability.text('logLevel', 'info'))),
    serviceName: options.text('serviceName', observability.text('serviceName', 'duroxide')),
    serviceVersion: options.text('serviceVersion', observability.text('serviceVersion', undefined)),
    gaugePollIntervalMs: observability.duration('gaugePollIntervalMs', 60_000, 1),
    logger: guardedLogger(options.object<Logger>('logger', ['debug', 'info', 'warn', 'error']) ?? consoleLogger),
    telemetry: options.object<Telemetry>('telemetry', ['observe', 'watchQueues']),
    clock: options.object<Clock>('clock', ['nowMs', 'sleep']) ?? monotonicClock,
  };
}

/** The filter that a fetch of orchestrations sends. */
export function versionFilter({ min, max }: { readonly min: SemVer; readonly max: SemVer }): VersionFilter {
  return { ranges: [{ min, max }] };
}

function lockRenewal(text: string): LockRenewal {
  if (text === 'event-loop' || text === 'worker-thread') return text;
  throw new RangeError(`lockRenewal must be 'event-loop' or 'worker-thread', got ${JSON.stringify(text)}`);
}

/** Anything unknown means `compact`, as in native. */
function logFormat(text: string): LogFormat {
  return text === 'json' || text === 'pretty' ? text : 'compact';
}

function logLevel(text: string): string {
  if (isLogLevel(text)) return text;
  throw new RangeError(`logLevel must be ${[...TRACE_LEVELS, 'off'].join(', ')}, got ${JSON.stringify(text)}`);
}

function replayVersions(options: OptionReader): { min: SemVer; max: SemVer } {
  if (!options.has('supportedReplayVersions')) return { min: { major: 0, minor: 0, patch: 0 }, max: COMPAT_VERSION };
  const range = options.group('supportedReplayVersions');
  const min = range.version('min');
  const max = range.version('max');
  if (compareSemVer(min, max) > 0) {
    throw new RangeError('supportedReplayVersions.min must not be above supportedReplayVersions.max');
  }
  return { min, max };
}

/** Reads single options; its errors name them in full. */
class OptionReader {
  constructor(
    private readonly values: Record<string, unknown>,
    private readonly prefix = '',
  ) {}

  has(option: string): boolean {
    return this.values[option] !== undefined;
  }

  raw(option: string): unknown {
    return this.values[option];
  }

  group(option: string): OptionReader {
    const value = this.values[option];
    if (value === undefined) return new OptionReader({}, `${option}.`);
    if (typeof value !== 'object' || value === null) throw this.wrongType('InvalidArg', 'an object', option);
    return new OptionReader(value as Record<string, unknown>, `${this.prefix}${option}.`);
  }

  text<T extends string | undefined>(option: string, fallback: T): string | T {
    const value = this.values[option];
    if (value === undefined) return fallback;
    if (typeof value !== 'string') throw this.wrongType('StringExpected', 'a string', option);
    return value;
  }

  /** An object of the caller's that is used by these methods. */
  object<T extends object>(option: string, methods: readonly (keyof T & string)[]): T | undefined {
    const value = this.values[option];
    if (value === undefined) return undefined;
    const has = (method: string) => typeof (value as Record<string, unknown> | null)?.[method] === 'function';
    if (typeof value !== 'function' && methods.every(has)) return value as T;
    throw this.wrongType('InvalidArg', `an object with the methods ${methods.join(', ')}`, option);
  }

  flag(option: string, fallback: boolean): boolean {
    const value = this.values[option];
    if (value === undefined) return fallback;
    if (typeof value !== 'boolean') throw this.wrongType('BooleanExpected', 'true or false', option);
    return value;
  }

  count(option: string, fallback: number, least: number): number {
    return this.number(option, fallback, least, Number.MAX_SAFE_INTEGER, '');
  }

  duration(option: string, fallback: number, least: number): number {
    return this.number(option, fallback, least, MAX_DURATION_MS, ' ms');
  }

  version(option: string): SemVer {
    const text = this.text(option, undefined);
    const version = text === undefined ? undefined : parseSemVer(text);
    if (!version) throw new RangeError(`${this.prefix}${option} must be a version such as 0.1.30`);
    return version;
  }

  private number(option: string, fallback: number, least: number, most: number, unit: string): number {
    const value = this.values[option];
    if (value === undefined) return fallback;
    if (typeof value !== 'number') throw this.wrongType('NumberExpected', 'a number', option);
    const whole = Math.trunc(value);
    if (!(whole >= least && whole <= most)) {
      throw new RangeError(`${this.prefix}${option} must be from ${least} to ${most}${unit}, got ${value}`);
    }
    return whole;
  }

  private wrongType(code: ArgumentError['code'], expected: string, option: string): ArgumentError {
    const value = this.values[option];
    const got = typeName(value);
    return new ArgumentError(code, `expected ${expected}, got ${got} on JsRuntimeOptions.${this.prefix}${option}`);
  }
}

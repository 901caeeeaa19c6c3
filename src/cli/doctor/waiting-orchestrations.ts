import { sql } from 'drizzle-orm';
import type { Executor } from '../../provider/drizzle/executor.js';
import { SET_ASIDE_UNTIL } from '../../provider/drizzle/operations/moment.js';
import {
  booleanCell,
  compile,
  integerCell,
  momentCell,
  optionalIntegerCell,
  textCell,
} from '../../provider/drizzle/statement.js';
import { WORKER_GONE_AFTER_MS } from '../../provider/workers.js';
import { quoteSchemaName } from '../../schema/schema-name.js';
import {
  COMPAT_VERSION,
  COMPAT_VERSION_TEXT,
  compareSemVer,
  formatSemVer,
  type SemVer,
} from '../../wire/compat-version.js';
import { counted, countText, durationText, withoutControls } from '../output/text.js';
import type { DoctorFinding } from './finding.js';

/** A message that is due for so long is waited for by somebody, in ms. */
const LONG_MS = 60_000;
/** Fetched and put off so often, a message is not just being retried. */
const PUT_OFF_ATTEMPTS = 2;
/** Messages that are looked at, the oldest: what waits may be millions. */
const MAX_MESSAGES = 1_000;
/** Orchestrations that are named. */
const MAX_NAMED = 5;

/** The oldest message of an instance that nobody takes. */
export interface WaitingInstance {
  readonly instance: string;
  readonly orchestration: string;
  /** `null`: the latest that is registered. */
  readonly version: string | null;
  readonly sinceMs: number;
  readonly attempts: number;
  /** The duroxide version that the execution is pinned to, if any. */
  readonly pinned: SemVer | null;
}

interface WaitingQuestion {
  readonly schema: string;
  readonly nowMs: number;
  /** Only this one, also when it does not wait for long. */
  readonly instance?: string | undefined;
}

/** Instances whose messages nobody takes, as far as the oldest 1,000 messages tell. */
export async function askWaiting(
  executor: Executor,
  { schema, nowMs, instance }: WaitingQuestion,
): Promise<WaitingInstance[]> {
  const [queue, instances, executions, locks] = ['orchestrator_queue', 'instances', 'executions', 'instance_locks'].map(
    (table) => sql.raw(`${quoteSchemaName(schema)}.${table}`),
  );
  const now = sql`${sql.placeholder('now')}::bigint`;
  const isLong = sql`(q.attempt_count >= ${sql.raw(String(PUT_OFF_ATTEMPTS))} or q.visible_at <= ${sql.placeholder('long')}::timestamptz)`;
  // A timer of the future waits for its time, not for a worker.
  const isAsked = sql`q.instance_id = ${sql.placeholder('instance')}::text
    and (q.attempt_count > 0 or q.visible_at <= ${sql.placeholder('nowAt')}::timestamptz)`;
  // Text and not JSON: a row that cannot be read must not fail the look. Quotes in payloads are
  // escaped, so that neither pattern can match inside of one.
  const rows = await executor.run(
    compile(
      sql`select q.instance_id,
          coalesce(i.orchestration_name, substring(q.work_item from '[{,]"orchestration":("(?:[^"\\\\]|\\\\.)*")')) as name,
          i.orchestration_name is null,
          case when i.orchestration_name is null
            then substring(q.work_item from ',"version":("(?:[^"\\\\]|\\\\.)*")') else i.orchestration_version end,
          q.created_at, q.attempt_count, e.duroxide_version_major, e.duroxide_version_minor, e.duroxide_version_patch
        from (
          select * from ${queue} q
          where (q.lock_token is null or q.locked_until <= ${now}) and q.visible_at < ${sql.placeholder('aside')}::timestamptz
            and ${instance === undefined ? isLong : isAsked}
          order by q.id limit ${sql.raw(String(MAX_MESSAGES))}
        ) q
        left join ${instances} i on i.instance_id = q.instance_id
        left join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
        where not exists (select 1 from ${locks} l where l.instance_id = q.instance_id and l.locked_until > ${now})
        order by q.id`,
      ([id, name, isText, version, created, attempts, major, minor, patch]) => ({
        instance: textCell(id),
        name: name ?? null,
        isText: booleanCell(isText),
        version: version ?? null,
        sinceMs: momentCell(created),
        attempts: integerCell(attempts),
        pinned: {
          major: optionalIntegerCell(major),
          minor: optionalIntegerCell(minor),
          patch: optionalIntegerCell(patch),
        },
      }),
    ),
    {
      now: nowMs,
      nowAt: new Date(nowMs).toISOString(),
      long: new Date(nowMs - LONG_MS).toISOString(),
      aside: SET_ASIDE_UNTIL,
      instance: instance ?? null,
    },
  );
  const waiting = new Map<string, WaitingInstance>();
  for (const { instance: id, name, isText, version, sinceMs, attempts, pinned } of rows) {
    // Messages without an instance and without a start: nobody knows what they are for.
    if (name === null) continue;
    const known = waiting.get(id);
    waiting.set(id, {
      instance: id,
      orchestration: isText ? unquoted(name) : name,
      version: version !== null && isText ? unquoted(version) : version,
      sinceMs: Math.min(sinceMs, known?.sinceMs ?? Infinity),
      attempts: Math.max(attempts, known?.attempts ?? 0),
      pinned: semVerOf(pinned),
    });
  }
  return [...waiting.values()];
}

/** By orchestration and version, what the doctor says. `hasWorkers`: `undefined` where nobody knows. */
export function aboutWaiting(
  waiting: readonly WaitingInstance[],
  { nowMs, hasWorkers }: { readonly nowMs: number; readonly hasWorkers: boolean | undefined },
): DoctorFinding[] {
  if (waiting.length === 0)
    return [{ check: 'orchestrations', level: 'ok', text: 'none waits for a worker that takes it' }];
  const groups = new Map<string, WaitingInstance[]>();
  for (const one of waiting) {
    const key = JSON.stringify([one.orchestration, one.version, one.pinned]);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  const sorted = [...groups.values()].sort((a, b) => b.length - a.length);
  const longest = (group: readonly WaitingInstance[]) => nowMs - Math.min(...group.map(({ sinceMs }) => sinceMs));
  const findings = sorted.slice(0, MAX_NAMED).flatMap((group): DoctorFinding[] => {
    const [first] = group;
    if (!first) return [];
    const attempts = Math.max(...group.map((one) => one.attempts));
    const who = `${counted(group.length, 'instance')} of ${nameText(first)}`;
    const text = `${who} ${group.length === 1 ? 'waits' : 'wait'} for a worker, the oldest message for ${durationText(longest(group))}`;
    return [
      {
        check: 'orchestrations',
        level: 'warning',
        text: attempts > 0 ? `${text}; fetched and put off up to ${counted(attempts, 'time')}` : text,
        advice: adviceOn({ ...first, attempts }, hasWorkers),
      },
    ];
  });
  const more = sorted.length - findings.length;
  if (more > 0) {
    findings.push({
      check: 'orchestrations',
      level: 'warning',
      text: `${countText(more)} other orchestrations wait, too`,
    });
  }
  return findings;
}

/** Why nobody takes it, as far as rows can tell. */
export function adviceOn(waiting: WaitingInstance, hasWorkers: boolean | undefined): string {
  const { attempts, pinned } = waiting;
  if (pinned && compareSemVer(pinned, COMPAT_VERSION) > 0) {
    return (
      `pinned to duroxide ${formatSemVer(pinned)}: workers of this package take up to ${COMPAT_VERSION_TEXT} unless ` +
      'supportedReplayVersions says otherwise; run a worker that replays it'
    );
  }
  if (attempts > 0) {
    return (
      `register ${nameText(waiting)} in a worker: those that fetched it do not have it (their log says "is not registered in ` +
      'this runtime"), its code no longer fits the history, or awaits something that is not durable (ForeignAwaitError in ' +
      'their log); after maxAttempts it fails as poison'
    );
  }
  if (hasWorkers === false) return `no worker runs on this schema: start one that has ${nameText(waiting)} registered`;
  return (
    `no worker has fetched it: none runs with ${nameText(waiting)}, all are busy, or their version filter ` +
    '(supportedReplayVersions) leaves it out'
  );
}

/** Whether a runtime was heard of lately; `undefined` in a schema that has no table for it. */
export async function askWorkers(
  executor: Executor,
  { schema, nowMs }: Pick<WaitingQuestion, 'schema' | 'nowMs'>,
): Promise<boolean | undefined> {
  const table = `${quoteSchemaName(schema)}.ddz_workers`;
  const [exists] = await executor.run(
    compile(sql`select to_regclass(${sql.placeholder('table')}) is not null`, ([cell]) => booleanCell(cell)),
    { table },
  );
  if (!exists) return undefined;
  const [count] = await executor.run(
    compile(
      sql`select count(*) from ${sql.raw(table)}
        where not is_stopped and last_seen_ms > ${sql.placeholder('since')}::bigint`,
      ([cell]) => integerCell(cell),
    ),
    { since: nowMs - WORKER_GONE_AFTER_MS },
  );
  return (count ?? 0) > 0;
}

export function nameText({ orchestration, version }: Pick<WaitingInstance, 'orchestration' | 'version'>): string {
  return withoutControls(`orchestration ${JSON.stringify(orchestration)} ${version ?? '(latest version)'}`);
}

/** A JSON string, as it stands in the message. */
export function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text; // no JSON: then as it stands there
  }
}

function semVerOf(pinned: { readonly [Part in keyof SemVer]: number | null }): SemVer | null {
  const { major, minor, patch } = pinned;
  return major === null || minor === null || patch === null ? null : { major, minor, patch };
}

import { type SQL, sql } from 'drizzle-orm';
import type { WorkItem } from '../../../wire/work-item.js';
import type { Ms, WorkItemLock } from '../../provider.js';
import { errorTexts, ProviderError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import { moment } from './moment.js';
import { type OrchestratorRow, orchestratorRow } from './queue-rows.js';
import { refuseOrchestratorItem } from './refusal.js';

/** An acknowledgement as it will be sent. */
export interface PreparedWorkAck {
  readonly lockToken: string;
  /** Absent: the result is discarded. */
  readonly completion?: OrchestratorRow;
}

export type WorkAck = WorkItemLock & { readonly completion?: WorkItem | undefined };

/** Why an acknowledgement cannot be stored; checked before any SQL. */
export function refuseWorkAck(operation: string, { completion }: WorkAck): ProviderError | undefined {
  if (completion === undefined) return undefined;
  if (completion.kind !== 'ActivityCompleted' && completion.kind !== 'ActivityFailed') {
    return ProviderError.permanent(operation, errorTexts.invalidCompletion);
  }
  return refuseOrchestratorItem(operation, completion);
}

export function prepareWorkAck({ lockToken, completion }: WorkAck): PreparedWorkAck {
  return completion === undefined ? { lockToken } : { lockToken, completion: orchestratorRow(completion) };
}

/**
 * Removes the rows whose token is live, enqueues their completions in the order of the
 * batch and keeps their sessions from becoming idle, in one statement that answers with
 * the tokens it found. `where` may keep all of it from happening.
 */
export function ackWorkStatement(ctx: ProviderContext, where: SQL = sql``): SQL {
  const value = (name: string) => sql.placeholder(name);
  const { workerQueue, orchestratorQueue, sessions } = ctx.tables;
  return sql`with gone as (
      delete from ${workerQueue} where lock_token = any(${value('lockTokens')}::text[]) and locked_until > ${value('nowMs')} ${where}
      returning lock_token, session_id
    ), completed as (
      insert into ${orchestratorQueue} (instance_id, work_item, visible_at, created_at)
      select u.instance_id, u.work_item, ${value('nowAt')}::timestamptz, ${value('nowAt')}::timestamptz
      from unnest(${value('completedTokens')}::text[], ${value('completionInstances')}::text[], ${value('completions')}::text[],
          ${value('places')}::int[]) as u(lock_token, instance_id, work_item, place)
      join gone g on g.lock_token = u.lock_token
      order by u.place
      returning id
    ), touched as (
      update ${sessions} set last_activity_at = ${value('nowMs')}
      where session_id in (select session_id from gone where session_id is not null) and locked_until > ${value('nowMs')}
      returning session_id
    )
    select lock_token from gone`;
}

/** The values of {@link ackWorkStatement}. */
export function ackWorkValues(acks: readonly PreparedWorkAck[], nowMs: Ms): SqlValues {
  const completed = acks.flatMap(({ lockToken, completion }) => (completion ? [{ lockToken, ...completion }] : []));
  return {
    nowMs,
    nowAt: moment(nowMs),
    lockTokens: acks.map(({ lockToken }) => lockToken),
    completedTokens: completed.map(({ lockToken }) => lockToken),
    completionInstances: completed.map(({ instance }) => instance),
    completions: completed.map(({ text }) => text),
    places: completed.map((_, place) => place),
  };
}

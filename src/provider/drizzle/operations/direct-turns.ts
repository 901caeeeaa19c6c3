import { type SQL, sql } from 'drizzle-orm';
import type { AckOrchestrationItem, DirectTurn, Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues, Transaction } from '../executor.js';
import { type Cell, noRow, textCell } from '../statement.js';
import { moment } from './moment.js';
import type { Step } from './run-together.js';

/*
 * Turns that were run without a fetch. What a fetch, and the acknowledgement of the activities
 * before it, would have seen to is seen to here, in the transaction that commits the turn:
 *
 * - Nobody else has the instance, or gets it before the commit. Whoever claims an instance, and whoever
 *   deletes or resets one, holds native's advisory key until his transaction ends; it is
 *   taken here as well, without waiting. What was claimed before shows its lock row,
 *   live or expired, to the next statement, whose snapshot is taken under the key.
 * - The turn went on from the last event of the current execution. Ids are enough: an event of
 *   an execution changes only by a deletion or a reset of the instance, and neither leaves the
 *   activities whose locks the turn shows. A turn that slipped in all the same has taken the id
 *   of the next event.
 * - Nothing that came earlier is overtaken: no other message of the instance is due.
 * - The activities are still the caller's: their locks are live. Their rows go.
 *
 * The row of the instance is locked for native's deletion, which takes no key.
 */

/** A turn that was run without a fetch. */
type Direct = AckOrchestrationItem & { readonly direct: DirectTurn };

export function isDirect(turn: AckOrchestrationItem): turn is Direct {
  return turn.direct !== undefined;
}

/** Turns of both kinds, each kind in its order. */
export function byKind(turns: readonly AckOrchestrationItem[]) {
  return { fetched: turns.filter((turn) => !isDirect(turn)), direct: turns.filter(isDirect) };
}

const value = (name: string) => sql.placeholder(name);
const instances = sql`unnest(${value('instances')}::text[]) as u(instance_id)`;
const hasKey = sql`pg_try_advisory_xact_lock(hashtext(u.instance_id))`;

/**
 * Supposes that all of them are right, and fails with `LOCK_MISSING`, division by zero, if not:
 * what stands behind it in the transaction does not happen then.
 */
export function requireDirect(ctx: ProviderContext, turns: readonly Direct[], nowMs: Ms): Step[] {
  if (turns.length === 0) return [];
  const values = directValues(turns, nowMs);
  const keys = ctx.statement(
    'direct: require keys',
    () => sql`select 1 / (case when bool_and(${hasKey}) then 1 else 0 end) from ${instances}`,
    noRow,
  );
  const take = ctx.statement(
    'direct: require',
    () => sql`with fit as (${fitPart(ctx)}), gone as (${forgetPart(ctx)} returning id)
      select 1 / (case when (select count(*) from fit) = ${value('expected')}
        and (select count(*) from gone) = ${value('expectedWork')} then 1 else 0 end)`,
    noRow,
  );
  const expected = { expected: turns.length, expectedWork: values.workTokens.length };
  return [
    { statement: keys, values: { instances: values.instances } },
    { statement: take, values: { ...values, ...expected } },
  ];
}

/** Asks which of them are right, and removes the activities of those. */
export async function takeDirect(
  ctx: ProviderContext,
  tx: Transaction,
  turns: readonly Direct[],
  nowMs: Ms,
): Promise<ReadonlySet<AckOrchestrationItem>> {
  if (turns.length === 0) return new Set();
  const keys = ctx.statement('direct: keys', () => sql`select u.instance_id from ${instances} where ${hasKey}`, oneText);
  const free = new Set(await tx.run(keys, { instances: turns.map(({ instance }) => instance) }));
  const candidates = turns.filter(({ instance }) => free.has(instance));
  if (candidates.length === 0) return new Set();
  const look = ctx.statement(
    'direct: look',
    () => sql`with fit as (${fitPart(ctx)}), live as (
        select lock_token from ${ctx.tables.workerQueue} where ${isLive} order by id for update
      )
      select 'i' || instance_id from fit union all select 't' || lock_token from live`,
    oneText,
  );
  const found = new Set(await tx.run(look, directValues(candidates, nowMs)));
  const taken = candidates.filter(
    ({ instance, direct }) => found.has(`i${instance}`) && direct.workTokens.every((token) => found.has(`t${token}`)),
  );
  if (taken.length > 0) {
    const forget = ctx.statement('direct: forget work', () => forgetPart(ctx), noRow);
    await tx.run(forget, { workTokens: tokensOf(taken), nowMs });
  }
  return new Set(taken);
}

const isLive = sql`lock_token = any(${value('workTokens')}::text[]) and locked_until > ${value('nowMs')}`;

/** Of the given turns, those whose instance is where they began; under the keys. */
function fitPart({ tables }: ProviderContext): SQL {
  return sql`select i.instance_id
    from unnest(${value('instances')}::text[], ${value('executions')}::bigint[], ${value('lastEvents')}::bigint[])
      as u(instance_id, execution_id, last_event_id)
    join ${tables.instances} i on i.instance_id = u.instance_id and i.current_execution_id = u.execution_id
    where not exists (select 1 from ${tables.instanceLocks} l where l.instance_id = u.instance_id)
      and not exists (select 1 from ${tables.orchestratorQueue} q
        where q.instance_id = u.instance_id and q.visible_at <= ${value('nowAt')}::timestamptz)
      and u.last_event_id = (select max(h.event_id) from ${tables.history} h
        where h.instance_id = u.instance_id and h.execution_id = u.execution_id)
    for no key update of i`;
}

function forgetPart({ tables }: ProviderContext): SQL {
  return sql`delete from ${tables.workerQueue} where ${isLive}`;
}

function directValues(turns: readonly Direct[], nowMs: Ms) {
  return {
    instances: turns.map(({ instance }) => instance),
    executions: turns.map(({ executionId }) => executionId),
    lastEvents: turns.map(({ direct }) => direct.lastEventId),
    workTokens: tokensOf(turns),
    nowMs,
    nowAt: moment(nowMs),
  } satisfies SqlValues;
}

function tokensOf(turns: readonly Direct[]): string[] {
  return turns.flatMap(({ direct }) => direct.workTokens);
}

function oneText([text]: readonly Cell[]): string {
  return textCell(text);
}

import { sql } from 'drizzle-orm';
import { decodeEvent } from '../../../wire/event.js';
import { WireError } from '../../../wire/wire-error.js';
import { decodeWorkItem } from '../../../wire/work-item.js';
import type { DeleteResult } from '../../admin.js';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { type Cell, integerCell, noRow, textCell } from '../statement.js';
import { forgetStarts } from '../start-queues/forget-starts.js';
import { fenceOff } from './fence.js';
import { forgetArchive, hasArchive } from './forget-archive.js';

const value = (name: string) => sql.placeholder(name);
const id = ([cell]: readonly Cell[]) => textCell(cell);

/** How the deletion of a list of instances went; nothing is deleted unless it is `deleted`. */
export type DeletionOutcome =
  | { readonly kind: 'deleted'; readonly counts: DeleteResult }
  | { readonly kind: 'running'; readonly instance: string }
  /** An instance outside of the list has its parent inside. */
  | { readonly kind: 'orphan'; readonly instance: string };

export interface Deletion {
  readonly instances: readonly string[];
  readonly force: boolean;
  readonly nowMs: Ms;
}

/**
 * Deletes everything of the listed instances, and the children of theirs that are
 * queued but have not run yet (P:T-22). Unknown ids are ignored. Unless the outcome is
 * `deleted` the transaction has to be rolled back, which gives back what it has taken.
 *
 * Instances are taken as a claim takes them: a turn that is being claimed or acknowledged
 * is waited for, and one that comes later finds its lock gone.
 */
export async function deleteListed(
  ctx: ProviderContext,
  tx: Transaction,
  { instances, force, nowMs }: Deletion,
): Promise<DeletionOutcome> {
  const ids = [...new Set(instances)];
  const [, , living, scheduled, archived] = await Promise.all([
    fenceOff(ctx, tx, { ids, nowMs }),
    tx.run(lockInstances(ctx), { ids }),
    tx.run(findLiving(ctx), { ids }),
    tx.run(findScheduledChildren(ctx), { ids }),
    hasArchive(ctx, tx),
  ]);
  if (!force && living[0] !== undefined) return { kind: 'running', instance: living[0] };

  const unborn = await findUnborn(ctx, tx, ids, scheduled.flatMap(childOf));
  // Somebody may have claimed them; their ids come behind those of their parents, as a rule.
  if (unborn.length > 0) await fenceOff(ctx, tx, { ids: unborn.map(({ instance }) => instance), nowMs });
  // The last look: whatever was born while we looked for it or waited is here by now.
  const [orphan] = await tx.run(findOrphans(ctx), { ids });
  if (orphan !== undefined) return { kind: 'orphan', instance: orphan };
  if (archived) await forgetArchive(ctx, tx, ids);
  const waited = await forgetStarts(ctx, tx, ids);
  const counts = new Map(
    await tx.runLast(deleteAll(ctx), {
      ids,
      messages: unborn.map(({ rowId }) => rowId),
      locked: [...ids, ...unborn.map(({ instance }) => instance)],
    }),
  );
  const count = (name: string) => counts.get(name) ?? 0;
  return {
    kind: 'deleted',
    counts: {
      instancesDeleted: count('instances'),
      executionsDeleted: count('executions'),
      eventsDeleted: count('events'),
      queueMessagesDeleted: count('orchestrator') + count('worker') + count('unborn') + waited,
    },
  };
}

function lockInstances(ctx: ProviderContext) {
  return ctx.statement(
    'delete: lock instances',
    () => sql`select instance_id from ${ctx.tables.instances} where instance_id = any(${value('ids')}::text[])
      order by instance_id collate "C" for update`,
    noRow,
  );
}

/** `ContinuedAsNew` lives, too: its next execution waits in the queue (P:T-14). */
function findLiving(ctx: ProviderContext) {
  const { instances, executions } = ctx.tables;
  return ctx.statement(
    'delete: living',
    () => sql`select i.instance_id from ${instances} i
      join ${executions} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
      where i.instance_id = any(${value('ids')}::text[]) and e.status in ('Running', 'ContinuedAsNew')
      order by i.instance_id limit 1`,
    id,
  );
}

function findOrphans(ctx: ProviderContext) {
  return ctx.statement(
    'delete: orphans',
    () => sql`select instance_id from ${ctx.tables.instances}
      where parent_instance_id = any(${value('ids')}::text[]) and not (instance_id = any(${value('ids')}::text[]))
      order by instance_id limit 1`,
    id,
  );
}

function findScheduledChildren(ctx: ProviderContext) {
  return ctx.statement(
    'delete: scheduled children',
    () => sql`select instance_id, event_data from ${ctx.tables.history}
      where instance_id = any(${value('ids')}::text[]) and event_data like '%"type":"SubOrchestrationScheduled"%'`,
    ([parent, event]) => ({ parent: textCell(parent), event: textCell(event) }),
  );
}

/** The full id of a scheduled child; history holds the short form of the derived ones. */
function childOf({ parent, event }: { readonly parent: string; readonly event: string }): string[] {
  const scheduled = readable(() => decodeEvent(event));
  if (scheduled?.kind !== 'SubOrchestrationScheduled') return [];
  return [scheduled.instance.startsWith('sub::') ? `${parent}::${scheduled.instance}` : scheduled.instance];
}

interface UnbornChild {
  readonly instance: string;
  /** Of its start message. */
  readonly rowId: number;
}

/** Of these children, those whose start message is still queued; an instance that has run under the id is somebody else's. */
async function findUnborn(
  ctx: ProviderContext,
  tx: Transaction,
  ids: readonly string[],
  children: readonly string[],
): Promise<UnbornChild[]> {
  const parents = new Set(ids);
  const candidates = [...new Set(children)].filter((child) => !parents.has(child));
  if (candidates.length === 0) return [];
  const statement = ctx.statement(
    'delete: queued starts',
    () => sql`select q.id, q.instance_id, q.work_item from ${ctx.tables.orchestratorQueue} q
      where q.instance_id = any(${value('children')}::text[]) and q.work_item like '%"StartOrchestration"%'
        and not exists (select 1 from ${ctx.tables.instances} i where i.instance_id = q.instance_id)`,
    ([rowId, instance, item]) => ({ rowId: integerCell(rowId), instance: textCell(instance), item: textCell(item) }),
  );
  const messages = await tx.run(statement, { children: candidates });
  return messages.filter(({ item }) => {
    const start = readable(() => decodeWorkItem(item));
    return start?.kind === 'StartOrchestration' && start.parentInstance !== null && parents.has(start.parentInstance);
  });
}

function deleteAll(ctx: ProviderContext) {
  const { tables } = ctx;
  const ofInstances = sql`instance_id = any(${value('ids')}::text[])`;
  return ctx.statement(
    'delete: everything',
    () => sql`with events as (delete from ${tables.history} where ${ofInstances} returning event_id),
      executions_ as (delete from ${tables.executions} where ${ofInstances} returning execution_id),
      orchestrator as (delete from ${tables.orchestratorQueue} where ${ofInstances} returning id),
      unborn as (delete from ${tables.orchestratorQueue} where id = any(${value('messages')}::bigint[]) returning id),
      worker as (delete from ${tables.workerQueue} where ${ofInstances} returning id),
      locks as (
        delete from ${tables.instanceLocks} where instance_id = any(${value('locked')}::text[]) returning instance_id
      ),
      delta as (delete from ${tables.kvDelta} where ${ofInstances} returning key),
      store as (delete from ${tables.kvStore} where ${ofInstances} returning key),
      instances_ as (delete from ${tables.instances} where ${ofInstances} returning instance_id)
      select 'events', count(*) from events
      union all select 'executions', count(*) from executions_
      union all select 'orchestrator', count(*) from orchestrator
      union all select 'unborn', count(*) from unborn
      union all select 'worker', count(*) from worker
      union all select 'instances', count(*) from instances_`,
    ([name, count]) => [textCell(name), integerCell(count)] as const,
  );
}

/** What cannot be read names no child; it is deleted like the rest. */
function readable<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

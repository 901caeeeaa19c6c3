import type { ProviderContext } from '../provider/drizzle/context.js';
import type { Transaction } from '../provider/drizzle/executor.js';
import { decodeWorkItem, type WorkItem } from '../wire/work-item.js';
import { WireError } from '../wire/wire-error.js';
import type { Findings } from './findings.js';
import { type CheckScope, forEachPage } from './page.js';
import { type LockRow, type QueueRow, readLocks, readOrphanedHistories, readQueue, readSessions } from './read-rows.js';

/** Looks at every row of the queues, the locks and the sessions, and at histories that belong to nobody. */
export async function checkRows(scope: CheckScope, total: Findings): Promise<void> {
  for (const table of ['orchestrator_queue', 'worker_queue'] as const) {
    await forEachPage<number>(scope, total, async (tx, findings, nowMs, after = 0) => {
      const rows = await readQueue(scope.ctx, tx, table, after);
      findings.checked(table === 'worker_queue' ? 'workerRows' : 'orchestratorRows', rows.length);
      for (const row of rows) checkQueueRow(row, findings, nowMs + scope.longestLockMs);
      return rows.at(-1)?.rowId;
    });
  }
  await checkLocks(scope, total, 'instance_locks', readLocks);
  await checkLocks(scope, total, 'sessions', readSessions);
  await forEachPage<string>(scope, total, async (tx, findings, _nowMs, after) => {
    const instances = await readOrphanedHistories(scope.ctx, tx, after);
    for (const instance of instances)
      findings.report('queue-owner', { instance, problem: 'history without an instance' });
    return instances.at(-1);
  });
}

function checkQueueRow(row: QueueRow, findings: Findings, latestLockMs: number): void {
  const { table, rowId, attemptCount, lockedUntilMs, isLocked } = row;
  const instance = row.instance ?? undefined;
  const place = { table, rowId, instance };
  if (row.isSetAside) {
    findings.listQuarantined({ table, rowId, instance: row.instance, attemptCount });
    return;
  }
  if (isLocked && lockedUntilMs === null) {
    findings.report('lock-expiry', { ...place, problem: 'the row is locked and has no moment at which it ends' });
  }
  if (!isLocked && lockedUntilMs !== null) {
    findings.report('lock-expiry', { ...place, problem: 'the row has an end of a lock and no lock' });
  }
  if (lockedUntilMs !== null && lockedUntilMs > latestLockMs) {
    findings.report('lock-expiry', { ...place, problem: 'the lock ends too far in the future' });
  }
  if (attemptCount < 0 || (isLocked && attemptCount === 0)) {
    findings.report('counters-agree', {
      ...place,
      problem: `${attemptCount} attempts at a ${isLocked ? '' : 'un'}locked row`,
    });
  }
  checkOwner(row, findings);
}

/** Messages that a client may send to whom it likes; the next fetch removes what nobody waits for. */
const UNADDRESSED: ReadonlySet<WorkItem['kind']> = new Set(['ExternalRaised', 'QueueMessage', 'CancelInstance']);

function checkOwner({ table, rowId, instance, hasOwner, text }: QueueRow, findings: Findings): void {
  const report = (problem: string) =>
    findings.report('queue-owner', { table, rowId, instance: instance ?? undefined, problem });
  if (text === null) return; // owned, and its content is read with its instance
  let item: WorkItem;
  try {
    item = decodeWorkItem(text);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return report(`the item cannot be read: ${error.message}`);
  }
  if (table === 'worker_queue' && item.kind !== 'ActivityExecute') return report(`${item.kind} in the worker queue`);
  if (!hasOwner && !UNADDRESSED.has(item.kind)) report(`${item.kind} for an instance that does not exist`);
}

type ReadLocks = (ctx: ProviderContext, tx: Transaction, after: string | undefined) => Promise<LockRow[]>;

async function checkLocks(
  scope: CheckScope,
  total: Findings,
  table: 'instance_locks' | 'sessions',
  read: ReadLocks,
): Promise<void> {
  await forEachPage<string>(scope, total, async (tx, findings, nowMs, after) => {
    const rows = await read(scope.ctx, tx, after);
    findings.checked('locks', rows.length);
    for (const { key, lockedUntilMs, hasOwner } of rows) {
      // The key of a session is no instance.
      const place = table === 'sessions' ? { table } : { table, instance: key };
      if (lockedUntilMs > nowMs + scope.longestLockMs) {
        findings.report('lock-expiry', { ...place, problem: 'the lock ends too far in the future' });
      }
      if (!hasOwner) findings.report('queue-owner', { ...place, problem: 'a lock without an instance or a message' });
    }
    return rows.at(-1)?.key;
  });
}

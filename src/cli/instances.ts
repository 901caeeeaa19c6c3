import type { InstanceInfo } from '../provider/admin.js';
import type { InstancePageQuery, InstanceSummary } from '../provider/instance-pages.js';
import { CliError, ExitCode } from './exit-codes.js';
import type { Printer } from './output/printer.js';
import type { PendingStart } from './pending-start.js';
import type { Store } from './store.js';

/** An instance that must have begun. @throws CliError naming it and the schema, or what its start waits for */
export async function requireInstance(store: Store, instanceId: string): Promise<InstanceInfo> {
  const found = await requireKnown(store, instanceId);
  if ('info' in found) return found.info;
  const { notBegun } = await import('./pending-start.js');
  throw notBegun(ExitCode.notFound, found.pending);
}

/** An instance, or the start of one that has not begun. */
export type Known = { readonly info: InstanceInfo } | { readonly pending: PendingStart };

/** An instance that must exist, or be about to begin. @throws CliError naming it and the schema */
export async function requireKnown(store: Store, instanceId: string): Promise<Known> {
  const info = await findInstance(store, instanceId);
  if (info) return { info };
  const { findPendingStart } = await import('./pending-start.js');
  const pending = await findPendingStart(store, instanceId);
  if (pending) return { pending };
  // Between the two looks it may have begun.
  const begun = await findInstance(store, instanceId);
  if (begun) return { info: begun };
  throw new CliError(
    ExitCode.notFound,
    `there is no instance ${JSON.stringify(instanceId)} in schema "${store.schema}"`,
    'find ids with: npx duroxide-drizzle list --prefix …',
  );
}

async function findInstance({ admin }: Store, instanceId: string): Promise<InstanceInfo | undefined> {
  try {
    return await admin.getInstanceInfo(instanceId);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether an operation failed because there is no such instance. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && /not found/i.test(error.message);
}

/**
 * An instance that can still be spoken to: it runs, or its start waits, and messages go
 * out with that. @throws CliError when it is unknown or has ended
 */
export async function requireReachable(store: Store, instanceId: string): Promise<Known> {
  const known = await requireKnown(store, instanceId);
  if ('pending' in known) return known;
  const { info } = known;
  if (info.status === 'Completed' || info.status === 'Failed') {
    throw new CliError(
      ExitCode.refused,
      `instance ${JSON.stringify(instanceId)} has ended (${info.status}): nothing reaches it any more`,
    );
  }
  return known;
}

/** Tells of an instance that has not begun what its start waits for; of any other, nothing. */
export function noteIfNotBegun(print: Printer, known: Known): void {
  if ('pending' in known) print.note(print.colors.dim(`it has not begun: ${known.pending.reason}`));
}

/** An execution that must exist. @throws CliError naming those that do */
export async function requireExecution({ admin }: Store, instanceId: string, executionId: number): Promise<void> {
  const executions = await admin.listExecutions(instanceId);
  if (executions.includes(executionId)) return;
  throw new CliError(
    ExitCode.notFound,
    `instance ${JSON.stringify(instanceId)} has no execution ${executionId}; expected ${expectedOf(executions)}`,
  );
}

/** Most executions that are named one by one. */
const NAMED = 10;

function expectedOf(executions: readonly number[]): string {
  if (executions.length === 0) return 'none: it has none';
  if (executions.length <= NAMED) return `one of ${executions.join(', ')}`;
  return `one of its ${executions.length}, from ${Math.min(...executions)} to ${Math.max(...executions)}`;
}

/** Instances page by page, newest first. A page of the store may be short although more follow. */
export async function* instancesOf(
  { admin }: Store,
  query: Omit<InstancePageQuery, 'limit'>,
  pageSize = 500,
): AsyncGenerator<InstanceSummary> {
  let after = query.after;
  do {
    const page = await admin.listInstancesPage({ ...query, after, limit: pageSize });
    yield* page.instances;
    after = page.next ?? undefined;
  } while (after !== undefined);
}

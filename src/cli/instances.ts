import type { InstanceInfo } from '../provider/admin.js';
import type { InstancePageQuery, InstanceSummary } from '../provider/instance-pages.js';
import { CliError, ExitCode } from './exit-codes.js';
import type { Store } from './store.js';

/** An instance that must exist. @throws CliError naming it and the schema */
export async function requireInstance({ admin, schema }: Store, instanceId: string): Promise<InstanceInfo> {
  try {
    return await admin.getInstanceInfo(instanceId);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CliError(
      ExitCode.notFound,
      `there is no instance ${JSON.stringify(instanceId)} in schema "${schema}"`,
      'find ids with: npx duroxide-drizzle list --prefix …; one that was just started is there as soon as a worker has taken it',
    );
  }
}

/** Whether an operation failed because there is no such instance. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && /not found/i.test(error.message);
}

/** An instance that can still be spoken to. @throws CliError when it is unknown or has ended */
export async function requireRunning(store: Store, instanceId: string): Promise<InstanceInfo> {
  const info = await requireInstance(store, instanceId);
  if (info.status === 'Completed' || info.status === 'Failed') {
    throw new CliError(
      ExitCode.refused,
      `instance ${JSON.stringify(instanceId)} has ended (${info.status}): nothing reaches it any more`,
    );
  }
  return info;
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

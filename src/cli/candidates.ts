import type { InstanceSummary } from '../provider/instance-pages.js';
import type { CliContext } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import { instancesOf, requireInstance, requireKnown } from './instances.js';
import { countText } from './output/text.js';
import { withSpinner } from './progress.js';
import type { Store } from './store.js';

/** What a command that changes many instances was told to look for. */
export interface Selection {
  readonly ids: readonly string[];
  readonly completedBefore?: number | undefined;
  readonly completedSince?: number | undefined;
  readonly status?: string | undefined;
  readonly name?: string | undefined;
  readonly limit: number;
  /** Ids may also be those of starts that wait in a start queue. */
  readonly alsoQueued?: boolean;
}

/** A status of our own: its start waits in a start queue. */
export const WAITS_IN_QUEUE = 'waits in start queue';

/** An instance that fits. */
export type Candidate = Pick<
  InstanceSummary,
  'instanceId' | 'orchestrationName' | 'status' | 'parentInstanceId' | 'currentExecutionId' | 'completedAtMs'
>;

/** Refuses a selection of everything: that is never what an empty command line means. */
export function requireSelection(selection: Selection, all?: boolean): void {
  const { ids, completedBefore, completedSince, status, name } = selection;
  const isFilter = [completedBefore, completedSince, status, name].some((given) => given !== undefined) || all === true;
  if (ids.length > 0 && isFilter) {
    throw new CliError(ExitCode.usage, 'both ids and filters were given; expected one of them');
  }
  if (ids.length === 0 && !isFilter) {
    throw new CliError(ExitCode.usage, 'no instances were given; expected ids or a filter (--help shows them)');
  }
}

/** The instances that a selection means, those that are named first looked up. @throws CliError for an unknown id */
export async function candidates(
  ctx: CliContext,
  store: Store,
  selection: Selection,
  fits: (candidate: InstanceSummary) => boolean,
): Promise<Candidate[]> {
  const { ids, limit } = selection;
  if (ids.length > 0) {
    const named: Candidate[] = [];
    for (const id of new Set(ids)) named.push(await candidateOf(store, id, selection.alsoQueued === true));
    return named;
  }
  const { status, name, completedBefore, completedSince } = selection;
  return withSpinner(ctx, { doing: 'looking', done: 'looked', failed: 'not looked through' }, async ({ say }) => {
    const found: Candidate[] = [];
    let looked = 0;
    const query = { status, name, createdBeforeMs: completedBefore };
    for await (const summary of instancesOf(store, query)) {
      ctx.io.signal.throwIfAborted();
      say(`${countText(found.length)} found among ${countText(++looked)}`);
      const inTime =
        (completedBefore === undefined || (summary.completedAtMs ?? Infinity) < completedBefore) &&
        (completedSince === undefined || (summary.completedAtMs ?? -Infinity) >= completedSince);
      if (!inTime || !fits(summary)) continue;
      found.push(summary);
      if (found.length === limit) break;
    }
    return found;
  });
}

async function candidateOf(store: Store, id: string, alsoQueued: boolean): Promise<Candidate> {
  const known = alsoQueued ? await requireKnown(store, id) : { info: await requireInstance(store, id) };
  if ('info' in known) return { ...known.info, completedAtMs: null };
  const { pending } = known;
  if (pending.queue === null) {
    const { notBegun } = await import('./pending-start.js');
    const { message } = notBegun(ExitCode.refused, pending);
    throw new CliError(
      ExitCode.refused,
      `${message}; a start that was handed to the workers cannot be taken back; nothing was deleted`,
      'cancel it: it ends in its first turn, and can be deleted then',
    );
  }
  return {
    instanceId: id,
    orchestrationName: pending.orchestration,
    status: `${WAITS_IN_QUEUE} ${JSON.stringify(pending.queue)}`,
    parentInstanceId: null,
    currentExecutionId: 1,
    completedAtMs: null,
  };
}

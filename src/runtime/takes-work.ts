import { assertNever } from '../base/assert-never.js';
import type { TagFilter } from '../provider/provider.js';
import type { WorkItem } from '../wire/work-item.js';

/** Whether a filter lets a worker item through. */
export function mayTake(filter: TagFilter, item: WorkItem): boolean {
  const tag = item.kind === 'ActivityExecute' ? item.tag : undefined;
  switch (filter.kind) {
    case 'any':
      return true;
    case 'none':
      return false;
    case 'defaultOnly':
      return tag === undefined;
    case 'defaultAnd':
      return tag === undefined || filter.tags.includes(tag);
    case 'tags':
      return tag !== undefined && filter.tags.includes(tag);
    default:
      return assertNever(filter, 'tag filter');
  }
}

/** Whether an activity may be one that only another process takes: by its tag, or as the owner of its session. */
export function isForOthers(filter: TagFilter, item: WorkItem): boolean {
  return !mayTake(filter, item) || (item.kind === 'ActivityExecute' && item.sessionId !== undefined);
}

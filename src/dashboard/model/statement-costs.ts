import type { InstancePageQuery } from '../../provider/instance-pages.js';

/** `countByStatus`: whether they are few, and then the counts or the estimates. */
export const COUNTS_STATEMENTS = 2;

/**
 * The statements that `listInstancesPage` sends at most: how many fit, for each condition with
 * an index of its own; the page; and, where it walks past instances that do not fit, how far it came.
 */
export function statementsOfPage(query: Partial<InstancePageQuery>): number {
  const { status, parent, idPrefix, customStatusPrefix, updatedAfterMs, updatedBeforeMs } = query;
  const isIndexedStatus = status === 'Running' || status === 'Failed';
  const sized = [typeof parent === 'string', Boolean(idPrefix), Boolean(customStatusPrefix), isIndexedStatus];
  const sizes = sized.filter(Boolean).length;
  const hasUpdated = updatedAfterMs !== undefined || updatedBeforeMs !== undefined;
  const mayEndEarly = sizes > 0 || status !== undefined || parent === null || hasUpdated;
  return sizes + 1 + (mayEndEarly ? 1 : 0);
}

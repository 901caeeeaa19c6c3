import { fnv1a64Hex as fingerprint } from '../../../base/fnv1a.js';
import { MAX_PAGE_LIMIT, type InstancePageQuery } from '../../instance-pages.js';
import { ProviderError } from '../../provider-error.js';

/** Where a page ended: the key that lists are ordered by. */
export interface PagePosition {
  /** As the server wrote it: a cursor must not lose the microseconds of a foreign writer. */
  readonly createdAt: string;
  readonly instance: string;
}

/** A query that was looked at: conditions are there or absent, and the cursor is read. */
export interface CheckedPageQuery extends Omit<InstancePageQuery, 'after'> {
  readonly position: PagePosition | undefined;
}

const OPERATION = 'list_instances_page';
const TEXTS = ['status', 'name', 'idPrefix', 'customStatusPrefix'] as const;
const MOMENTS = ['createdAfterMs', 'createdBeforeMs', 'updatedAfterMs', 'updatedBeforeMs'] as const;

/** @throws ProviderError naming what was given and what was expected */
export function checkedPageQuery(query: InstancePageQuery): CheckedPageQuery {
  const { limit } = query;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE_LIMIT) {
    throw refused(`limit must be a whole number from 1 to ${MAX_PAGE_LIMIT}, got ${String(limit)}`);
  }
  for (const name of TEXTS) {
    const given = query[name];
    if (given !== undefined && typeof given !== 'string') throw refused(`${name} must be a text, got ${typeof given}`);
  }
  for (const name of MOMENTS) {
    const given = query[name];
    if (given !== undefined && !Number.isFinite(given)) {
      throw refused(`${name} must be a moment in Unix milliseconds, got ${String(given)}`);
    }
  }
  const { after, idPrefix, customStatusPrefix, ...rest } = query;
  return {
    ...rest,
    // The beginning of everything is no condition.
    ...(idPrefix ? { idPrefix } : {}),
    ...(customStatusPrefix ? { customStatusPrefix } : {}),
    position: after === undefined ? undefined : positionOf(after, query),
  };
}

/** The cursor of a position: opaque to callers, and bound to the conditions that it was made for. */
export function cursorOf({ createdAt, instance }: PagePosition, query: InstancePageQuery): string {
  return Buffer.from(JSON.stringify([1, conditionsOf(query), createdAt, instance])).toString('base64url');
}

function positionOf(cursor: string, query: InstancePageQuery): PagePosition {
  const [version, conditions, createdAt, instance] = cursorParts(cursor);
  if (version !== 1 || typeof createdAt !== 'string' || typeof instance !== 'string' || !MOMENT.test(createdAt)) {
    throw refused('after is not a cursor of a page: pass on `next` of the page before as it is');
  }
  if (conditions !== conditionsOf(query)) {
    throw refused('after is the cursor of another query: pass the same conditions as for the page before');
  }
  return { createdAt, instance };
}

/** A `timestamptz` as PostgreSQL prints it. */
const MOMENT = /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?[+-]\d\d(:\d\d){0,2}$/;

function cursorParts(cursor: string): readonly unknown[] {
  const bytes = Buffer.from(cursor, 'base64url');
  // Decoding passes over what does not belong.
  if (bytes.toString('base64url') !== cursor) return [];
  try {
    const parts: unknown = JSON.parse(bytes.toString('utf8'));
    return Array.isArray(parts) ? parts : [];
  } catch {
    // Whatever it is, it is none of ours; the caller says so.
    return [];
  }
}

function conditionsOf(query: InstancePageQuery): string {
  const { status, name, parent, idPrefix, customStatusPrefix, createdAfterMs, createdBeforeMs } = query;
  const { updatedAfterMs, updatedBeforeMs } = query;
  const created = [createdAfterMs, createdBeforeMs];
  // Absent, they leave the cursors of versions that do not know them valid.
  const updated = updatedAfterMs === undefined && updatedBeforeMs === undefined ? [] : [updatedAfterMs, updatedBeforeMs];
  const given = [status, name, parent === null ? [] : parent, idPrefix, customStatusPrefix, ...created, ...updated];
  return fingerprint(JSON.stringify(given.map((one) => one ?? null)));
}

function refused(reason: string): ProviderError {
  return ProviderError.permanent(OPERATION, reason);
}

import { type SQL, sql } from 'drizzle-orm';
import type { SemVer } from '../../../wire/compat-version.js';
import type { VersionFilter } from '../../provider.js';
import type { SqlValues } from '../executor.js';

/** Inclusive bounds. */
export interface VersionRange {
  readonly min: SemVer;
  readonly max: SemVer;
}

/**
 * The range that a filter means: its first one (P:CF-19). `'any'` without a filter,
 * `undefined` where nothing can match (P:CF-11).
 */
export function rangeOf(filter: VersionFilter | undefined): VersionRange | 'any' | undefined {
  return filter === undefined ? 'any' : filter.ranges[0];
}

/**
 * Whether the execution `e` (an alias of an outer-joined `executions`) is pinned within
 * the range, or not pinned at all. Component by component: a packed number collides
 * from 1,000 on and overflows further up, which would stop the queue (P:T-29).
 */
export function isWithinRange(): SQL {
  const of = (name: string) => sql.placeholder(name);
  const [major, minor, patch] = [
    sql`e.duroxide_version_major`,
    sql`e.duroxide_version_minor`,
    sql`e.duroxide_version_patch`,
  ];
  const isAtLeastMin = sql`(${major} > ${of('minMajor')} or (${major} = ${of('minMajor')} and (${minor} > ${of('minMinor')}
    or (${minor} = ${of('minMinor')} and ${patch} >= ${of('minPatch')}))))`;
  const isAtMostMax = sql`(${major} < ${of('maxMajor')} or (${major} = ${of('maxMajor')} and (${minor} < ${of('maxMinor')}
    or (${minor} = ${of('maxMinor')} and ${patch} <= ${of('maxPatch')}))))`;
  return sql`(${major} is null or (${isAtLeastMin} and ${isAtMostMax}))`;
}

/** The values of the placeholders of {@link isWithinRange}. */
export function rangeValues({ min, max }: VersionRange): SqlValues {
  return {
    minMajor: min.major,
    minMinor: min.minor,
    minPatch: min.patch,
    maxMajor: max.major,
    maxMinor: max.minor,
    maxPatch: max.patch,
  };
}

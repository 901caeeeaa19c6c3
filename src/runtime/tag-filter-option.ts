import { ArgumentError } from '../client/errors.js';
import type { TagFilter } from '../provider/provider.js';

/**
 * Which activities a runtime takes: untagged only, any, none (no activities at all), only
 * these tags, or these and untagged. The strings `'tags'` and `'defaultAnd'` take their
 * tags from `workerTagFilterTags`.
 */
export type WorkerTagFilter =
  'defaultOnly' | 'any' | 'none' | 'tags' | 'defaultAnd' | { tags: string[] } | { defaultAnd: string[] };

/** @throws ArgumentError for an object with neither key or tags that are no strings; RangeError for no tags at all */
export function resolveTagFilter(filter: unknown, flatTags: unknown): TagFilter {
  if (filter === undefined) return { kind: 'defaultOnly' };
  if (typeof filter === 'string') return fromName(filter, flatTags);
  if (typeof filter !== 'object' || filter === null) throw notAFilter();
  const { tags, defaultAnd } = filter as { tags?: unknown; defaultAnd?: unknown };
  if (tags !== undefined) return { kind: 'tags', tags: tagList('workerTagFilter.tags', tags) };
  if (defaultAnd !== undefined) return { kind: 'defaultAnd', tags: tagList('workerTagFilter.defaultAnd', defaultAnd) };
  throw notAFilter();
}

function fromName(name: string, flatTags: unknown): TagFilter {
  switch (name) {
    case 'any':
    case 'none':
      return { kind: name };
    case 'tags':
    case 'defaultAnd':
      return { kind: name, tags: tagList('workerTagFilterTags', flatTags ?? []) };
    default:
      // As native: an unknown word means the default.
      return { kind: 'defaultOnly' };
  }
}

/** More than `MAX_WORKER_TAGS` pass, as in native. */
function tagList(option: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.some((tag) => typeof tag !== 'string')) {
    throw new ArgumentError('StringExpected', `expected an array of strings on JsRuntimeOptions.${option}`);
  }
  if (value.length === 0) throw new RangeError(`${option} must name at least one tag`);
  return [...new Set(value as string[])];
}

function notAFilter(): ArgumentError {
  return new ArgumentError(
    'InvalidArg',
    "expected 'defaultOnly', 'any', 'none', { tags } or { defaultAnd } on JsRuntimeOptions.workerTagFilter",
  );
}

import type { Ms } from './provider.js';

/** Longest page. */
export const MAX_PAGE_LIMIT = 1_000;
/** Characters of custom status and output that a page shows; the whole is with the instance. */
export const PREVIEW_LENGTH = 200;

/** Which instances a page shows. Conditions combine; absent ones do not count. */
export interface InstancePageQuery {
  /** Exact status of the current execution: `Running`, `Completed`, `Failed` or `ContinuedAsNew`. */
  readonly status?: string | undefined;
  /** Exact name of the orchestration. */
  readonly name?: string | undefined;
  /** Children of this instance; `null`: only roots. */
  readonly parent?: string | null | undefined;
  /** Ids that begin so, letter by letter. */
  readonly idPrefix?: string | undefined;
  /** Custom statuses that begin so, letter by letter. */
  readonly customStatusPrefix?: string | undefined;
  /** Created at this moment or later, Unix ms. */
  readonly createdAfterMs?: Ms | undefined;
  /** Created strictly before, Unix ms. */
  readonly createdBeforeMs?: Ms | undefined;
  /** Its last turn, which for one that has ended is its end, was at this moment or later, Unix ms. */
  readonly updatedAfterMs?: Ms | undefined;
  /** Its last turn was strictly before, Unix ms. */
  readonly updatedBeforeMs?: Ms | undefined;
  /** `next` of the page before, of the same conditions. */
  readonly after?: string | undefined;
  /** From 1 to {@link MAX_PAGE_LIMIT}. */
  readonly limit: number;
}

/** One line of a list. Long texts are cut to {@link PREVIEW_LENGTH} characters. */
export interface InstanceSummary {
  readonly instanceId: string;
  readonly orchestrationName: string;
  /** `unknown` where none is stored. */
  readonly orchestrationVersion: string;
  readonly currentExecutionId: number;
  readonly status: string;
  readonly createdAtMs: Ms;
  readonly updatedAtMs: Ms;
  /** `null` unless it has ended. */
  readonly completedAtMs: Ms | null;
  readonly parentInstanceId: string | null;
  /** The beginning of the custom status. */
  readonly customStatus: string | null;
  /** The beginning of the output, or of the failure's text. */
  readonly outputPreview: string | null;
}

export interface InstancePage {
  readonly instances: readonly InstanceSummary[];
  /** Where the next page begins; `null` on the last one. */
  readonly next: string | null;
}

/** How many instances have a status. */
export interface StatusCount {
  readonly status: string;
  readonly count: number;
  /** The count is made from the planner's statistics, or is the least that it can be. */
  readonly isEstimate: boolean;
}

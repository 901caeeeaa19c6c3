/** Hard limits, in one place (runtime.md 2.12). Sizes are bytes of UTF-8. */

/** Instance ids, and explicit child and detached ids. An index row of PostgreSQL holds 2,704 bytes. */
export const MAX_INSTANCE_ID_BYTES = 1024;
/** Child ids that the runtime derives from the parent's. */
export const MAX_DERIVED_CHILD_ID_BYTES = 2048;
/** Orchestration, activity, event and queue names. */
export const MAX_NAME_BYTES = 1024;
export const MAX_KV_KEY_BYTES = 512;
/** As native. */
export const MAX_KV_VALUE_BYTES = 65_536;
/** As native, counted over the snapshot and the delta of the turn. */
export const MAX_KV_KEYS = 150;
/** As native. */
export const MAX_CUSTOM_STATUS_BYTES = 262_144;
export const MAX_SESSION_ID_BYTES = 256;
/** As native. */
export const MAX_TAG_BYTES = 256;
/** Tags that one worker filter may name, as native. */
export const MAX_FILTER_TAGS = 5;
/** Mailbox messages carried over a continue-as-new, as native; the oldest are kept. */
export const MAX_CARRIED_MESSAGES = 100;
/** One payload, by default: input, event data, result or output. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 33_554_432;
/** Iterations of the settle loop: a guard against runaways (native: 100). */
export const MAX_SETTLE_ITERATIONS = 10_000;
/** Event id of the failure that ends an instance whose history cannot be read (provider.md 2.4). */
export const UNREADABLE_HISTORY_EVENT_ID = 99_999;

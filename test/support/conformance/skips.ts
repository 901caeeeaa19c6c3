import type { Skips } from '../../../src/conformance/index.js';

const noSecondConnection = { trap: '-', reason: 'the database has one connection: nothing can stand in the way' };

/** PGlite and pg-mem run inside the process, on one connection. */
export const oneConnection: Skips = {
  'XR-4': { trap: 'T-16', reason: 'native connects to a server' },
  'XR-7': noSecondConnection,
  'XR-9/large': noSecondConnection,
  'XR-10': noSecondConnection,
  'XR-13/if-absent-committed': noSecondConnection,
  'XR-13/if-absent-rolled-back': noSecondConnection,
  'XR-12': { trap: 'T-35', reason: 'there is no network between provider and database' },
};

/** A schema of ours has no functions for a native worker. */
export const ourSchema: Skips = {
  'XR-4': {
    trap: 'T-16',
    reason: 'a native worker needs its stored functions; shown on a schema that native migrated',
  },
};

/** What native's own functions do otherwise; provider.md 3.4.11 has the list. */
export const nativeFunctions: Skips = {
  'XR-2': { trap: 'T-3', reason: "native's fetch casts every text to jsonb: one bad text fails it for all" },
  'XR-3': { trap: 'T-16', reason: 'a fresh schema gets native functions from native alone' },
  'XR-5': { trap: 'T-7', reason: "native's acknowledgement does not lock its lock row: both take effect" },
  'XR-6': { trap: 'T-7', reason: "native's acknowledgement goes on after the deletion and leaves rows behind" },
  'XR-7': { trap: 'T-5', reason: "native's fetch spins on a queue row that somebody else holds" },
  'XR-10': { trap: 'T-6', reason: "native's fetch waits for the advisory lock of its candidate" },
};

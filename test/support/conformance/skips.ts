import type { Skips } from '../../../src/conformance/index.js';

const noSecondConnection = { trap: '-', reason: 'the database has one connection: nothing can stand in the way' };

/** PGlite and pg-mem run inside the process, on one connection. */
export const oneConnection: Skips = {
  'XR-4': { trap: 'T-16', reason: 'native connects to a server' },
  'XR-7': noSecondConnection,
  'XR-9/large': noSecondConnection,
  'XR-10': noSecondConnection,
  'XR-12': { trap: 'T-35', reason: 'there is no network between provider and database' },
};

/** A schema of ours has no functions for a native worker. */
export const ourSchema: Skips = {
  'XR-4': {
    trap: 'T-16',
    reason: 'a native worker needs its stored functions; shown on a schema that native migrated',
  },
};

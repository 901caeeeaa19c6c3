import { quoteSchemaName } from '../schema-name.js';
import { allTableNames } from '../table-names.js';
import { cleanup } from './cleanup.js';
import { deletion } from './deletion.js';
import { enqueues } from './enqueues.js';
import { histories } from './histories.js';
import { instanceFunctions } from './instances.js';
import { orchestrationAck } from './orchestration-ack.js';
import { orchestrationFetch } from './orchestration-fetch.js';
import { orchestrationLocks } from './orchestration-locks.js';
import { sessionFunctions } from './sessions.js';
import { statistics } from './statistics.js';
import { statusAndValues } from './status-and-values.js';
import { argumentTypes, type StoredFunction } from './stored-function.js';
import { workItems } from './work-items.js';

export { selectOwnFunctions } from './ownership.js';
export { argumentTypes, createFunctionStatement, storedBodyHash, type StoredFunction } from './stored-function.js';

/**
 * The 32 functions that a client of native's calls (provider.md, appendix A), written
 * for the schema `name`. Native's four others are dead (P:T-33) and not among them.
 * @throws RangeError for a schema name that is not allowed
 */
export function storedFunctions(name: string): readonly StoredFunction[] {
  const s = quoteSchemaName(name);
  const working = [
    orchestrationFetch,
    orchestrationAck,
    orchestrationLocks,
    workItems,
    sessionFunctions,
    enqueues,
    histories,
    statusAndValues,
    statistics,
    instanceFunctions,
    deletion,
  ].flatMap((family) => family(s));
  const functions = working.map((stored) => `${stored.name}(${argumentTypes(stored)})`);
  return [...working, ...cleanup({ schema: name, tables: allTableNames, functions })(s)];
}

import type { Migration } from '../../../schema/migration.js';
import { builtInMigrations } from '../../../schema/migrations.generated.js';
import { argumentTypes, storedBodyHash, storedFunctions } from '../../../schema/functions/index.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import { NATIVE_BOOKKEEPING, OWN_BOOKKEEPING } from '../../../schema/table-names.js';
import type { Driver, Executor } from '../executor.js';
import { additionNames, ownTableStatements } from './additions.js';
import {
  type Catalogue,
  type OwnRecord,
  readCatalogue,
  readNativeVersions,
  readOwnRecords,
} from './catalogue.js';
import { baseTableNames, ownIndexes, uselessIndexName } from './expected-objects.js';
import { judgeNative, judgeOurs, judgeUnrecorded, type SchemaOrigin, type Verdict } from './judge-schema.js';
import { SchemaError } from './schema-error.js';

/**
 * The functions of `StoredFunctionProvider`:
 * - `none`, or only some of them;
 * - `current`: ours, of this version; `outdated`: ours, of another;
 * - `native`: those of the schema's native duroxide;
 * - `foreign`: some have these names and signatures, but nobody recorded them.
 */
export type StoredFunctionState = 'none' | 'current' | 'outdated' | 'native' | 'foreign';

/** What stands in a schema, found without changing anything. */
export interface SchemaStatus {
  readonly schema: string;
  readonly origin: SchemaOrigin;
  /** Set when the schema cannot be used as it is; `pending` migrations alone do not count. */
  readonly refusal?: SchemaError | undefined;
  /** Migrations of ours that are not applied yet, in order; everything when the schema is absent. */
  readonly pendingMigrations: readonly string[];
  /** Our own indexes that are missing, invalid, or differ from their definition. */
  readonly missingIndexes: readonly string[];
  /** Migrations with tables of ours that an adopted schema does not have. */
  readonly missingTables: readonly string[];
  /** Whether enqueues notify by trigger. */
  readonly notifyTriggers: boolean;
  readonly storedFunctions: StoredFunctionState;
  /** The highest version that native recorded. */
  readonly nativeLevel: number | null;
  /** Additions that are recorded but not, or no longer, there. */
  readonly damagedAdditions: readonly string[];
}

/** A status with what a plan needs beside it. */
export interface Inspection {
  readonly status: SchemaStatus;
  readonly schemaExists: boolean;
  readonly hasOwnBookkeeping: boolean;
  readonly recorded: ReadonlySet<string>;
  /** Indexes that were set aside to be removed, and still stand there. */
  readonly uselessIndexes: readonly string[];
}

/** How a schema is judged: what to tolerate, and which migrations there are. */
export interface InspectOptions {
  readonly schema: string;
  /** Use a native schema of a level we do not know. */
  readonly allowNewer?: boolean | undefined;
  /** Another list than the built-in one: tests of older and newer versions. */
  readonly migrations?: readonly Migration[] | undefined;
}

/** Looks at a schema; needs no lock and no privilege to create anything. @throws RangeError for a bad name */
export async function inspectSchema(driver: Driver, options: InspectOptions): Promise<SchemaStatus> {
  quoteSchemaName(options.schema);
  return driver.withConnection(async (executor) => (await inspect(executor, options)).status);
}

/**
 * For a provider that must not create anything: the status, if the schema is complete.
 * @throws SchemaError when it is refused, or when migrations are pending
 */
export async function requireMigratedSchema(driver: Driver, options: InspectOptions): Promise<SchemaStatus> {
  const status = await inspectSchema(driver, options);
  if (status.refusal) throw status.refusal;
  if (status.pendingMigrations.length > 0) throw pendingError(status);
  return status;
}

/** What to tell somebody who may not, or does not want to, migrate. */
export function pendingError({ schema, pendingMigrations }: SchemaStatus, cause?: unknown): SchemaError {
  return new SchemaError(
    cause === undefined ? 'pending' : 'notPermitted',
    schema,
    `migrations are pending (${pendingMigrations.join(', ')})` +
      (cause === undefined ? '' : ', and this role may not run them') +
      `; run \`npx duroxide-drizzle migrate --schema ${schema}\`, or migrate(db, { schema: '${schema}' }), ` +
      'as a role that may create schemas and tables there',
    cause,
  );
}

/** @internal The inspection on a connection or a transaction that is open already. */
export async function inspect(executor: Executor, options: InspectOptions): Promise<Inspection> {
  const { schema, allowNewer = false, migrations = builtInMigrations } = options;
  const quoted = quoteSchemaName(schema);
  const catalogue = await readCatalogue(executor, {
    schema,
    tables: [...baseTableNames, NATIVE_BOOKKEEPING, OWN_BOOKKEEPING],
    functions: storedFunctions(schema).map(({ name }) => name),
  });
  const seen = { schema, catalogue, migrations, allowNewer };
  const native = catalogue.tables.get(NATIVE_BOOKKEEPING);
  const own = catalogue.tables.get(OWN_BOOKKEEPING);
  const refusal = unreadableBookkeeping(schema, catalogue);
  if (refusal) return inspection(seen, { versions: [], records: [] }, { origin: native ? 'native' : 'ours', refusal });

  const versions = native ? await readNativeVersions(executor, quoted) : [];
  const records = own ? await readOwnRecords(executor, quoted) : [];
  if (native) return inspection(seen, { versions, records }, judgeNative(seen, versions, records));
  if (own) return inspection(seen, { versions, records }, judgeOurs(seen, records));
  return inspection(seen, { versions, records }, judgeUnrecorded(seen));
}

function unreadableBookkeeping(schema: string, { tables, mayUse }: Catalogue): SchemaError | undefined {
  const unreadable = [NATIVE_BOOKKEEPING, OWN_BOOKKEEPING].filter((name) => {
    const table = tables.get(name);
    return table !== undefined && !(mayUse && table.readable);
  });
  if (unreadable.length === 0) return undefined;
  return new SchemaError(
    'notPermitted',
    schema,
    `this role may not read ${unreadable.join(' and ')}; as the owner: ` +
      `grant usage on schema ${quoteSchemaName(schema)}, and select, insert, update and delete on its tables`,
  );
}

interface Seen {
  readonly schema: string;
  readonly catalogue: Catalogue;
  readonly migrations: readonly Migration[];
}

interface Bookkeeping {
  readonly versions: readonly number[];
  readonly records: readonly OwnRecord[];
}

function inspection(
  { schema, catalogue, migrations }: Seen,
  { versions, records }: Bookkeeping,
  { origin, refusal }: Verdict,
): Inspection {
  const recorded = new Set(records.map(({ name }) => name));
  const unrecorded = migrations.filter(({ name }) => !recorded.has(name));
  const adopted = origin === 'native' || origin === 'handedOver';
  const pending = adopted ? [] : unrecorded;
  const missingTables = adopted ? unrecorded.filter((migration) => ownTableStatements(migration).length > 0) : [];
  const missingIndexes = origin === 'absent' ? [] : ownIndexes.filter((index) => !isBuilt(catalogue, index));
  const notifyTriggers = QUEUES.every((queue) => catalogue.notifyTriggers.has(queue));
  const functions = storedFunctionState(schema, catalogue, { adopted, recorded });
  const damaged = {
    [additionNames.indexes]: missingIndexes.length > 0,
    [additionNames.notifyTriggers]: !notifyTriggers,
    [additionNames.storedFunctions]: functions === 'none',
  };
  return {
    status: {
      schema,
      origin,
      refusal,
      pendingMigrations: pending.map(({ name }) => name),
      missingIndexes: missingIndexes.map(({ name }) => name),
      missingTables: missingTables.map(({ name }) => name),
      notifyTriggers,
      storedFunctions: functions,
      nativeLevel: versions.at(-1) ?? null,
      damagedAdditions: Object.entries(damaged).flatMap(([name, is]) => (is && recorded.has(name) ? [name] : [])),
    },
    schemaExists: catalogue.schemaExists,
    hasOwnBookkeeping: catalogue.tables.has(OWN_BOOKKEEPING),
    recorded,
    uselessIndexes: ownIndexes.map(({ name }) => uselessIndexName(name)).filter((name) => catalogue.indexes.has(name)),
  };
}

function storedFunctionState(
  schema: string,
  { functions }: Catalogue,
  { adopted, recorded }: { readonly adopted: boolean; readonly recorded: ReadonlySet<string> },
): StoredFunctionState {
  const found = new Map(functions.map(({ name, argumentTypes: types, bodyHash }) => [`${name}(${types})`, bodyHash]));
  const expected = storedFunctions(schema).map((stored) => ({
    signature: `${stored.name}(${argumentTypes(stored)})`,
    bodyHash: storedBodyHash(stored),
  }));
  const present = expected.filter(({ signature }) => found.has(signature));
  const complete = present.length === expected.length;
  const ours = complete && expected.every(({ signature, bodyHash }) => found.get(signature) === bodyHash);
  if (ours) return 'current';
  if (adopted) return complete ? 'native' : 'none';
  if (recorded.has(additionNames.storedFunctions)) return complete ? 'outdated' : 'none';
  return present.length > 0 ? 'foreign' : 'none';
}

const QUEUES = ['orchestrator_queue', 'worker_queue'] as const;

function isBuilt(catalogue: Catalogue, expected: (typeof ownIndexes)[number]): boolean {
  const found = catalogue.indexes.get(expected.name);
  return (
    found !== undefined &&
    found.valid &&
    found.table === expected.table &&
    found.partial === (expected.where !== undefined) &&
    found.columns.join() === expected.columns.join()
  );
}

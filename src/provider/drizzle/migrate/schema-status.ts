import type { Migration } from '../../../schema/migration.js';
import { builtInMigrations } from '../../../schema/migrations.generated.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import type { Driver, Executor } from '../executor.js';
import { additionNames, ownTableStatements } from './additions.js';
import {
  type Catalogue,
  type CatalogueTable,
  type OwnRecord,
  readCatalogue,
  readNativeVersions,
  readOwnRecords,
} from './catalogue.js';
import { baseTableNames, expectedColumns, ownIndexes } from './expected-objects.js';
import { missingNativeVersions, unknownNativeVersions } from './native-levels.js';
import { SchemaError, type SchemaErrorKind } from './schema-error.js';

/**
 * Whose tables stand in a schema:
 * - `absent`: none yet;
 * - `ours`: made by this package;
 * - `native`: made by native duroxide, with or without additions of ours;
 * - `handedOver`: made by this package, then given to native.
 */
export type SchemaOrigin = 'absent' | 'ours' | 'native' | 'handedOver';

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
  readonly catalogue: Catalogue;
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
  const quoted = quoteSchemaName(options.schema);
  const catalogue = await readCatalogue(executor, {
    schema: options.schema,
    tables: [...baseTableNames, NATIVE_BOOKKEEPING, OWN_BOOKKEEPING],
    functions: [],
  });
  const native = catalogue.tables.get(NATIVE_BOOKKEEPING);
  const own = catalogue.tables.get(OWN_BOOKKEEPING);
  const unreadable = [native && NATIVE_BOOKKEEPING, own && OWN_BOOKKEEPING].filter(
    (name) => name !== undefined && !(catalogue.mayUse && catalogue.tables.get(name)?.readable),
  );
  const judged = { options, catalogue };
  if (unreadable.length > 0) {
    const refusal = new SchemaError(
      'notPermitted',
      options.schema,
      `this role may not read ${unreadable.join(' and ')}; as the owner: grant usage on schema ${quoted} and select on its tables`,
    );
    return inspection(judged, [], [], { origin: native ? 'native' : 'ours', refusal });
  }
  const versions = native ? await readNativeVersions(executor, quoted) : [];
  const records = own ? await readOwnRecords(executor, quoted) : [];
  const verdict = native
    ? judgeNative(judged, versions, records)
    : own
      ? judgeOurs(judged, records)
      : judgeUnrecorded(judged);
  return inspection(judged, versions, records, verdict);
}

/** Native's bookkeeping; never written but by the hand-over. */
export const NATIVE_BOOKKEEPING = '_duroxide_migrations';
/** Ours. */
export const OWN_BOOKKEEPING = 'ddz_migrations';

interface Judged {
  readonly options: InspectOptions;
  readonly catalogue: Catalogue;
}

interface Verdict {
  readonly origin: SchemaOrigin;
  readonly refusal?: SchemaError | undefined;
}

function migrationsOf({ migrations }: InspectOptions): readonly Migration[] {
  return migrations ?? builtInMigrations;
}

function inspection(
  { options, catalogue }: Judged,
  versions: readonly number[],
  records: readonly OwnRecord[],
  { origin, refusal }: Verdict,
): Inspection {
  const recorded = new Set(records.map(({ name }) => name));
  const migrations = migrationsOf(options);
  const unrecorded = migrations.filter(({ name }) => !recorded.has(name));
  const adopted = origin === 'native' || origin === 'handedOver';
  const missingIndexes = origin === 'absent' ? [] : ownIndexes.filter((index) => !isBuilt(catalogue, index));
  const notifyTriggers = QUEUES.every((queue) => catalogue.notifyTriggers.has(queue));
  const damagedAdditions = [
    recorded.has(additionNames.indexes) && missingIndexes.length > 0 ? additionNames.indexes : undefined,
    recorded.has(additionNames.notifyTriggers) && !notifyTriggers ? additionNames.notifyTriggers : undefined,
  ].filter((name) => name !== undefined);
  return {
    status: {
      schema: options.schema,
      origin,
      refusal,
      pendingMigrations: adopted ? [] : unrecorded.map(({ name }) => name),
      missingIndexes: missingIndexes.map(({ name }) => name),
      missingTables: adopted
        ? unrecorded.filter((migration) => ownTableStatements(migration).length > 0).map(({ name }) => name)
        : [],
      notifyTriggers,
      nativeLevel: versions.at(-1) ?? null,
      damagedAdditions,
    },
    schemaExists: catalogue.schemaExists,
    hasOwnBookkeeping: catalogue.tables.has(OWN_BOOKKEEPING),
    recorded,
    catalogue,
  };
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

/** Native's bookkeeping is there: adopt what is complete, refuse the rest (provider.md 1.5). */
function judgeNative(judged: Judged, versions: readonly number[], records: readonly OwnRecord[]): Verdict {
  const { schema, allowNewer } = judged.options;
  const handedOver = records.some(({ name }) => name === additionNames.handOver);
  const origin = handedOver ? 'handedOver' : 'native';
  const refuse = (kind: SchemaErrorKind, reason: string): Verdict => ({
    origin,
    refusal: new SchemaError(kind, schema, reason),
  });

  const unknown = unknownNativeVersions(versions);
  if (unknown.length > 0 && !allowNewer) {
    return refuse(
      'newer',
      `native duroxide migrated it to a level that this version does not know (${unknown.join(', ')}); ` +
        'update duroxide-drizzle, or pass allowNewer: true if you know that the tables did not change',
    );
  }
  const missing = missingNativeVersions(versions);
  if (missing.length > 0 && records.some(({ kind }) => kind === 'base') && !handedOver) {
    return refuse(
      'older',
      'this package created it, and a native worker that was started on it stopped in the middle of its own migrations ' +
        `(not recorded: ${missing.join(', ')}); with all workers stopped, either drop _duroxide_migrations and call ` +
        'handOverToNative, or follow the rename procedure in docs/native.md',
    );
  }
  if (missing.length > 0) {
    return refuse(
      'older',
      `native duroxide has not finished migrating it (not recorded: ${missing.join(', ')}); ` +
        'start a current native worker (level 20 or above) on it once, then try again',
    );
  }
  const problems = tableProblems(judged.catalogue);
  if (problems.length > 0) {
    return refuse(
      'damaged',
      `native's migrations are recorded, but ${problems.join('; ')}; restore the tables from a backup, or use another schema`,
    );
  }
  return { origin };
}

/** Only our bookkeeping is there. */
function judgeOurs(judged: Judged, records: readonly OwnRecord[]): Verdict {
  const { schema } = judged.options;
  const refuse = (kind: SchemaErrorKind, reason: string): Verdict => ({
    origin: 'ours',
    refusal: new SchemaError(kind, schema, reason),
  });
  const known = new Set(migrationsOf(judged.options).map(({ name }) => name));
  const base = records.filter(({ kind }) => kind === 'base').map(({ name }) => name);
  const unknown = base.filter((name) => !known.has(name));
  if (unknown.length > 0) {
    return refuse(
      'newer',
      `a newer duroxide-drizzle migrated it (unknown here: ${unknown.join(', ')}); update this package`,
    );
  }
  if (base.length === 0 || records.some(({ name }) => name === additionNames.handOver)) {
    return refuse(
      'damaged',
      'ddz_migrations records additions to a native schema, but native\'s bookkeeping "_duroxide_migrations" is gone; ' +
        'restore it from a backup, or drop the schema',
    );
  }
  // With migrations pending the tables are allowed to be behind; they are checked after those ran.
  const problems = base.length < known.size ? [] : tableProblems(judged.catalogue);
  if (problems.length > 0) {
    return refuse(
      'damaged',
      `our migrations are recorded, but ${problems.join('; ')}; restore the tables from a backup, or use another schema`,
    );
  }
  return { origin: 'ours' };
}

/** No bookkeeping at all: free, unless something of the application's has one of our names. */
function judgeUnrecorded({ options, catalogue }: Judged): Verdict {
  const occupied = baseTableNames.filter((name) => catalogue.tables.has(name));
  if (occupied.length === 0) return { origin: 'absent' };
  return {
    origin: 'absent',
    refusal: new SchemaError(
      'occupied',
      options.schema,
      `it already has ${occupied.join(', ')}, and no bookkeeping says that they belong to duroxide; use a schema of its own`,
    ),
  };
}

/** How the base tables differ from what the queries need. Extra columns are fine if nobody must fill them. */
function tableProblems(catalogue: Catalogue): string[] {
  return baseTableNames.flatMap((name) => {
    const table = catalogue.tables.get(name);
    if (!table) return [`table ${name} is missing`];
    if (table.kind !== 'r' && table.kind !== 'p') return [`${name} is not a table`];
    return columnProblems(name, table);
  });
}

function columnProblems(name: string, table: CatalogueTable): string[] {
  const expected = expectedColumns.filter((column) => column.table === name);
  const wrong = expected.flatMap(({ column, type }) => {
    const found = table.columns.get(column);
    if (!found) return [`column ${name}.${column} is missing`];
    return found.type === type ? [] : [`column ${name}.${column} is ${found.type} instead of ${type}`];
  });
  const names = new Set(expected.map(({ column }) => column));
  const unfillable = [...table.columns]
    .filter(([column, { notNull, hasDefault }]) => !names.has(column) && notNull && !hasDefault)
    .map(([column]) => `column ${name}.${column} is unknown and must be filled`);
  return [...wrong, ...unfillable];
}

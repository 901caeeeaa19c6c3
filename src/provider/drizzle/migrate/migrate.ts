import type { Migration } from '../../../schema/migration.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import { serverErrorOf } from '../drivers/connection-errors.js';
import type { Driver, Transaction } from '../executor.js';
import { buildMissingIndexes, indexStatements } from './adopt-indexes.js';
import { takeMigrationLock } from './migration-lock.js';
import { type Additions, type Step, planSteps } from './plan.js';
import { type Inspection, type SchemaStatus, inspect, pendingError } from './schema-status.js';
import { SchemaError } from './schema-error.js';


/** SQLSTATE of a refused privilege. */
const INSUFFICIENT_PRIVILEGE = '42501';

export interface MigrateOptions extends Additions {
  /** @defaultValue `public` */
  readonly schema?: string | undefined;
  /** Use a native schema of a level that this version does not know. */
  readonly allowNewer?: boolean | undefined;
  /** Change nothing, and say in the report what would be run. */
  readonly dryRun?: boolean | undefined;
  /** @internal Another list of migrations than the built-in one. */
  readonly migrations?: readonly Migration[] | undefined;
}

export interface MigrationReport {
  /** The schema afterwards; with `dryRun`, as it is. */
  readonly status: SchemaStatus;
  /** What this call did, or with `dryRun` would do: `schema`, names of migrations, additions and indexes. */
  readonly applied: readonly string[];
  /** The statements of it, in order. Those with CONCURRENTLY run outside the transaction of the others. */
  readonly sql: readonly string[];
}

/**
 * Brings a schema to the level of this package: creates it, applies what is pending of
 * our own, or adopts what native migrated as it is (provider.md 1.5). Everything but
 * the building of adopted indexes happens in one transaction under native's migration
 * lock, so any number of processes may do it at once. When nothing is missing, nothing
 * is locked and no privilege to create anything is needed.
 * @throws SchemaError when the schema cannot be used or the role may not migrate it; the message says what to do
 * @throws RangeError for a schema name that is not allowed
 */
export async function migrateSchema(driver: Driver, options: MigrateOptions = {}): Promise<MigrationReport> {
  const asked = { ...options, schema: options.schema ?? 'public' };
  quoteSchemaName(asked.schema);
  const seen = await driver.withConnection((executor) => inspect(executor, asked));
  if (asked.dryRun) return dryRun(seen, asked);

  let done: MigrationReport = { status: seen.status, applied: [], sql: [] };
  // A refusal is decided under the lock: native may be in the middle of its own migrations.
  if (seen.status.refusal || planSteps(seen, asked, asked.migrations).length > 0) {
    done = await withPermissionAdvice(seen.status, () => driver.withTransaction((tx) => migrateIn(tx, asked)));
  }
  if (!asked.adoptIndexes || (done.status.missingIndexes.length === 0 && seen.uselessIndexes.length === 0)) return done;

  const sql = indexStatements(asked.schema, done.status.missingIndexes);
  const built = await withPermissionAdvice(done.status, () => buildMissingIndexes(driver, asked));
  const { status } = await driver.withConnection((executor) => inspect(executor, asked));
  return { status, applied: [...done.applied, ...built], sql: [...done.sql, ...sql] };
}

type Asked = MigrateOptions & { readonly schema: string };

async function migrateIn(tx: Transaction, asked: Asked): Promise<MigrationReport> {
  await takeMigrationLock(tx, asked.schema);
  const before = usable(await inspect(tx, asked));
  const steps = planSteps(before, asked, asked.migrations);
  await runSteps(tx, steps);
  if (steps.length === 0) return { status: before.status, applied: [], sql: [] };
  // What we promise is what stands there in the end, not what we sent.
  return report(usable(await inspect(tx, asked)), steps);
}

/** @internal What was done, and what stands there now. */
export function report({ status }: Inspection, steps: readonly Step[]): MigrationReport {
  return { status, ...summary(steps) };
}

/** @internal Runs the statements of a plan, in order. */
export async function runSteps(tx: Transaction, steps: readonly Step[]): Promise<void> {
  for (const { statements } of steps) {
    for (const statement of statements) await tx.script(statement);
  }
}

/** @internal @throws SchemaError when the schema is refused */
export function usable(inspection: Inspection): Inspection {
  if (inspection.status.refusal) throw inspection.status.refusal;
  return inspection;
}

function dryRun(seen: Inspection, asked: Asked): MigrationReport {
  const { status } = usable(seen);
  const plan = summary(planSteps(seen, asked, asked.migrations));
  const indexes = asked.adoptIndexes ? status.missingIndexes : [];
  return {
    status,
    applied: [...plan.applied, ...indexes],
    sql: [...plan.sql, ...indexStatements(asked.schema, indexes)],
  };
}

function summary(steps: readonly Step[]): Pick<MigrationReport, 'applied' | 'sql'> {
  return {
    applied: steps.map(({ what }) => what).filter((what) => what !== 'search_path'),
    sql: steps.flatMap(({ statements }) => statements),
  };
}

/** @internal A refused privilege says nothing to a user; what is pending and who may do it does. */
export async function withPermissionAdvice<T>(status: SchemaStatus, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (serverErrorOf(error)?.code !== INSUFFICIENT_PRIVILEGE) throw error;
    if (status.pendingMigrations.length > 0) throw pendingError(status, error);
    throw new SchemaError(
      'notPermitted',
      status.schema,
      'this role may not create what was asked for; run the migration as the owner of the schema and its tables',
      error,
    );
  }
}

import { sql } from 'drizzle-orm';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import { NATIVE_BOOKKEEPING } from '../../../schema/table-names.js';
import type { Driver, Executor, Transaction } from '../executor.js';
import { compile, integerCell, textCell } from '../statement.js';
import { additionNames } from './additions.js';
import { type MigrationReport, report, runSteps, usable, withPermissionAdvice } from './migrate.js';
import { takeMigrationLock } from './migration-lock.js';
import { NATIVE_MIGRATIONS } from './native-levels.js';
import { planSteps, preparation, recorded, type Step, storedFunctionSteps } from './plan.js';
import { inspect, type InspectOptions, type SchemaStatus } from './schema-status.js';
import { SchemaError } from './schema-error.js';

export interface HandOverOptions extends InspectOptions {
  /** Locks that ended before this moment (Unix ms) do not count. @defaultValue the database's clock */
  readonly nowMs?: number | undefined;
}

/**
 * Makes a schema of ours one that native duroxide starts on (provider.md 1.5): installs
 * our stored functions, which have native's signatures, and records native's migrations.
 * From then on the schema is treated as native's. Stop all workers before: nothing may
 * be locked. Does nothing when the schema was handed over already.
 * @throws SchemaError when something is locked, or the schema is not ours
 */
export async function handOverToNative(driver: Driver, options: HandOverOptions): Promise<MigrationReport> {
  quoteSchemaName(options.schema);
  const { status } = await driver.withConnection((executor) => inspect(executor, options));
  return withPermissionAdvice(status, () => driver.withTransaction((tx) => handOverIn(tx, options)));
}

async function handOverIn(tx: Transaction, options: HandOverOptions): Promise<MigrationReport> {
  await takeMigrationLock(tx, options.schema);
  const before = usable(await inspect(tx, options));
  if (before.status.origin === 'handedOver') return { status: before.status, applied: [], sql: [] };
  requireOurs(before.status);
  await requireNothingLocked(tx, options);

  const pending = planSteps(before, {}, options.migrations);
  const steps = [
    ...(pending.length > 0 ? pending : preparation(before)),
    ...storedFunctionSteps(before.status),
    nativeBookkeeping(options.schema),
  ];
  await runSteps(tx, steps);
  return report(usable(await inspect(tx, options)), steps);
}

function requireOurs({ origin, schema }: SchemaStatus): void {
  if (origin === 'ours') return;
  throw new SchemaError(
    'occupied',
    schema,
    origin === 'native'
      ? 'native duroxide made it, so there is nothing to hand over'
      : 'there is nothing to hand over; let native duroxide create it',
  );
}

/** Native's own versions and names, and nothing else: it refuses a schema with any that it does not know. */
function nativeBookkeeping(schema: string): Step {
  const table = `${quoteSchemaName(schema)}.${NATIVE_BOOKKEEPING}`;
  const rows = NATIVE_MIGRATIONS.map(({ version, name }) => `(${version}, '${name}')`);
  const statements = [
    `create table ${table} (version bigint primary key, name text not null, applied_at timestamptz default current_timestamp)`,
    `insert into ${table} (version, name) values ${rows.join(', ')}`,
  ];
  return recorded(schema, { what: additionNames.handOver, statements }, 'hand-over');
}

/** A worker that still holds something would go on writing beside native. */
async function requireNothingLocked(tx: Executor, { schema, nowMs }: HandOverOptions): Promise<void> {
  const table = (name: string) => sql.raw(`${quoteSchemaName(schema)}.${name}`);
  const now = sql`coalesce(${sql.placeholder('nowMs')}::bigint, (extract(epoch from clock_timestamp()) * 1000)::bigint)`;
  const locked = (name: string) =>
    sql`select ${sql.raw(`'${name}'`)} as name, count(*) as locked, max(locked_until) as until
        from ${table(name)} where locked_until > ${now}`;
  const lookForLocks = compile(
    sql`select name, locked, until from (${sql.join(LOCKABLE.map(locked), sql` union all `)}) l where locked > 0 order by name`,
    ([name, count, until]) => ({ name: textCell(name), count: integerCell(count), untilMs: integerCell(until) }),
  );
  const found = await tx.run(lookForLocks, { nowMs: nowMs ?? null });
  if (found.length === 0) return;
  const until = new Date(Math.max(...found.map(({ untilMs }) => untilMs))).toISOString();
  throw new SchemaError(
    'busy',
    schema,
    `something is locked (${found.map(({ name, count }) => `${name}: ${count}`).join(', ')}; until ${until}); ` +
      'stop all workers, wait until then, and hand over again',
  );
}

const LOCKABLE = ['instance_locks', 'orchestrator_queue', 'worker_queue', 'sessions'] as const;

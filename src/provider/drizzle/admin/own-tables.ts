import { UnsupportedError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { serverErrorOf } from '../drivers/connection-errors.js';

/** SQLSTATE of a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Whether an error says that a table is not there. */
export function isMissingTable(error: unknown): boolean {
  return serverErrorOf(error)?.code === UNDEFINED_TABLE;
}

/** SQLSTATE of a column that does not exist. */
const UNDEFINED_COLUMN = '42703';

/** Whether an error says that a column is not there. */
export function isMissingColumn(error: unknown): boolean {
  return serverErrorOf(error)?.code === UNDEFINED_COLUMN;
}

/** As {@link missingTable}, for what a later migration adds to a table. */
export function missingMigration(operation: string, ctx: ProviderContext, migration: string, what: string): UnsupportedError {
  return new UnsupportedError(
    `${operation}: schema "${ctx.schema}" keeps no ${what} before migration ${migration}; run \`npx duroxide-drizzle migrate ` +
      `--schema ${ctx.schema} --adopt-tables\`, or migrate(db, { schema: '${ctx.schema}', adoptTables: true })`,
  );
}

/** A schema that native made has tables of ours on request only (provider.md 1.5): says how to get one. */
export function missingTable(operation: string, ctx: ProviderContext, table: string): UnsupportedError {
  return new UnsupportedError(
    `${operation}: schema "${ctx.schema}" has no table ${table}; run \`npx duroxide-drizzle migrate --schema ${ctx.schema} ` +
      `--adopt-tables\`, or migrate(db, { schema: '${ctx.schema}', adoptTables: true })`,
  );
}

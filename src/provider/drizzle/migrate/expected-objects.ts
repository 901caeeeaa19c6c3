import type { SQL } from 'drizzle-orm';
import { type IndexedColumn, PgDialect, type PgTable, getTableConfig, pgTable } from 'drizzle-orm/pg-core';
import { makeTables } from '../../../schema/tables.js';

/** A column as the catalogue should show it. */
export interface ExpectedColumn {
  readonly table: string;
  readonly column: string;
  /** As `format_type` prints it. */
  readonly type: string;
  readonly notNull: boolean;
}

/** One of our own indexes on native's tables (provider.md 3.4.13). */
export interface ExpectedIndex {
  readonly name: string;
  readonly table: string;
  /** As the catalogue names them: an expression by its function. */
  readonly columns: readonly string[];
  /** As `CREATE INDEX` takes them, with operator classes. */
  readonly keys: readonly string[];
  /** The predicate, with columns qualified by the bare table name. */
  readonly where: string | undefined;
}

// Both lists are read off the Drizzle tables, so that they cannot drift from what queries use.
const tables: readonly PgTable[] = Object.values(makeTables(pgTable));
const dialect = new PgDialect();

/** Every column of the base tables (provider.md 1.2). */
export const expectedColumns: readonly ExpectedColumn[] = tables.flatMap((table) => {
  const { name, columns } = getTableConfig(table);
  return columns.map((column) => ({
    table: name,
    column: column.name,
    type: catalogueType(column.getSQLType()),
    notNull: column.notNull || column.primary,
  }));
});

/** The names of the base tables. */
export const baseTableNames: readonly string[] = [...new Set(expectedColumns.map(({ table }) => table))];

/** Our own indexes; native's need no attention, because native makes them. */
export const ownIndexes: readonly ExpectedIndex[] = tables.flatMap((table) => {
  const { name, indexes } = getTableConfig(table);
  return indexes
    .map(({ config }) => ({
      name: config.name ?? '',
      table: name,
      columns: config.columns.map(indexedColumnName),
      keys: config.columns.map((column) => keyText(column, name)),
      where: config.where && constantText(config.where),
    }))
    .filter((index) => index.name.startsWith('ddz_'));
});

/** Under which name an index is set aside that stands in the way of one of ours. */
export function uselessIndexName(name: string): string {
  return `${name}_invalid`;
}

function catalogueType(sqlType: string): string {
  return sqlType === 'bigserial' ? 'bigint' : sqlType;
}

function indexedColumnName(column: Partial<IndexedColumn | SQL>): string {
  if ('name' in column && typeof column.name === 'string') return column.name;
  const text = constantText(column as SQL);
  const name = /^"(\w+)"(?! *\()/.exec(text.replace(/^"\w+"\./, ''))?.[1] ?? /^(\w+)\(/.exec(text)?.[1];
  if (name === undefined) throw new Error(`an index of ours on what has no name: ${text}`);
  return name;
}

function keyText(column: Partial<IndexedColumn | SQL>, table: string): string {
  if ('name' in column && typeof column.name === 'string') return `"${column.name}"`;
  return constantText(column as SQL).replaceAll(`"${table}".`, '');
}

function constantText(part: SQL): string {
  const { sql, params } = dialect.sqlToQuery(part.inlineParams());
  if (params.length > 0) throw new Error('the definition of an index cannot have parameters');
  return sql;
}

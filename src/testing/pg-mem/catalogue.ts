import type { ResultSet } from './result-set.js';
import {
  afterExistence,
  afterParenthesis,
  identifier,
  isOneOf,
  nameAt,
  render,
  splitAtCommas,
  startsWith,
  type Token,
} from './tokens.js';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  /** As SQL text; `undefined` for none, and for serials. */
  readonly defaultText: string | undefined;
  readonly isSerial: boolean;
}

interface Index {
  readonly table: string;
  readonly columns: readonly string[];
  readonly partial: boolean;
}

interface Schema {
  readonly tables: Map<string, Column[]>;
  readonly indexes: Map<string, Index>;
}

/**
 * What `pg_catalog` would tell about the schemas, read off the statements that made
 * them: pg-mem's own catalogue is nearly empty, it takes `bigint` for `integer`, and the
 * indexes are not made at all.
 */
export class PgMemCatalogue {
  private readonly schemas = new Map<string, Schema>([['public', newSchema()]]);

  hasSchema(name: string): boolean {
    return this.schemas.has(name);
  }

  hasTable(schema: string, name: string): boolean {
    return this.schemas.get(schema)?.tables.has(name) === true;
  }

  /** Takes note of a statement that was run; any but CREATE and DROP changes nothing here. */
  note(statement: readonly Token[], currentSchema: string): void {
    const [verb, object] = statement;
    if (isOneOf(verb, 'create')) {
      if (isOneOf(object, 'schema')) this.addSchema(nameAt(statement, afterExistence(statement, 2)).name);
      if (isOneOf(object, 'table')) this.addTable(statement, currentSchema);
      if (isOneOf(object, 'index', 'unique')) this.addIndex(statement, currentSchema);
    }
    if (isOneOf(verb, 'drop') && isOneOf(object, 'table', 'index')) this.drop(statement, currentSchema);
  }

  /** The migrator's look at a schema (see `migrate/catalogue.ts`): rows of six columns by kind. */
  describe(schemaName: string, tableNames: readonly string[]): ResultSet['rows'] {
    const schema = this.schemas.get(schemaName);
    if (schema === undefined) return [];
    const asked = [...schema.tables].filter(([name]) => tableNames.includes(name));
    return [
      ['schema', schemaName, 'true', null, null, null],
      ...asked.map(([name]) => ['table', name, 'r', 'true', null, null]),
      ...asked.flatMap(([table, columns]) =>
        columns.map(({ name, type, notNull, defaultText, isSerial }) => [
          'column',
          table,
          name,
          type,
          String(notNull),
          String(isSerial || defaultText !== undefined),
        ]),
      ),
      ...[...schema.indexes]
        .filter(([name]) => name.startsWith('ddz_'))
        .map(([name, { table, columns, partial }]) => [
          'index',
          name,
          table,
          columns.join(','),
          String(partial),
          'true',
        ]),
    ];
  }

  /** The DEFAULT of a column as SQL text, NULL if it has none. */
  defaultOf(table: { schema?: string; name: string }, column: string, currentSchema: string): string {
    const columns = this.schemas.get(table.schema ?? currentSchema)?.tables.get(table.name);
    return columns?.find(({ name }) => name === column)?.defaultText ?? 'NULL';
  }

  private addSchema(name: string): void {
    if (!this.schemas.has(name)) this.schemas.set(name, newSchema());
  }

  private addTable(statement: readonly Token[], currentSchema: string): void {
    const { schema = currentSchema, name, next } = nameAt(statement, afterExistence(statement, 2));
    const entries = splitAtCommas(statement.slice(next + 1, afterParenthesis(statement, next) - 1));
    const isConstraint = ([first]: readonly Token[]) =>
      isOneOf(first, 'constraint', 'primary', 'unique', 'foreign', 'check');
    const keys = new Set(entries.filter(isConstraint).flatMap(primaryKeyColumns));
    const columns = entries.filter((entry) => !isConstraint(entry)).map(columnOf);
    this.schemas.get(schema)?.tables.set(
      name,
      columns.map((column) => ({ ...column, notNull: column.notNull || keys.has(column.name) })),
    );
  }

  private addIndex(statement: readonly Token[], currentSchema: string): void {
    let at = isOneOf(statement[1], 'unique') ? 3 : 2;
    if (isOneOf(statement[at], 'concurrently')) at++;
    const index = nameAt(statement, afterExistence(statement, at));
    const on = nameAt(statement, index.next + 1);
    const open = statement.findIndex((token, i) => i >= on.next && isOneOf(token, '('));
    const close = afterParenthesis(statement, open);
    this.schemas.get(on.schema ?? currentSchema)?.indexes.set(index.name, {
      table: on.name,
      columns: splitAtCommas(statement.slice(open + 1, close - 1)).map(([first]) => identifier(first)),
      partial: isOneOf(statement[close], 'where'),
    });
  }

  private drop(statement: readonly Token[], currentSchema: string): void {
    let at = isOneOf(statement[2], 'concurrently') ? 3 : 2;
    at = afterExistence(statement, at);
    for (const part of splitAtCommas(statement.slice(at))) {
      const { schema = currentSchema, name } = nameAt(part, 0);
      const found = this.schemas.get(schema);
      found?.indexes.delete(name);
      found?.tables.delete(name);
    }
  }
}

function newSchema(): Schema {
  return { tables: new Map(), indexes: new Map() };
}

function primaryKeyColumns(constraint: readonly Token[]): string[] {
  const at = constraint.findIndex((token) => isOneOf(token, 'primary'));
  if (at < 0) return [];
  return splitAtCommas(constraint.slice(at + 3, -1)).map(([first]) => identifier(first));
}

/** Types as `format_type` prints them; a serial is an integer with a default. */
const TYPES: Readonly<Record<string, string>> = {
  bigserial: 'bigint',
  serial: 'integer',
  int8: 'bigint',
  int: 'integer',
  int4: 'integer',
  bool: 'boolean',
  timestamptz: 'timestamp with time zone',
};

function columnOf(tokens: readonly Token[]): Column {
  const isModifier = (token: Token) =>
    isOneOf(token, 'not', 'null', 'default', 'primary', 'references', 'unique', 'constraint', 'generated', 'check');
  const found = tokens.findIndex(isModifier);
  const end = found < 0 ? tokens.length : found;
  const type = tokens
    .slice(1, end)
    .map(({ text }) => text.toLowerCase())
    .join(' ');
  const modifiers = tokens.slice(end);
  const has = (...words: readonly string[]) => modifiers.some((_, at) => startsWith(modifiers, at, ...words));
  const isSerial = type.endsWith('serial') || has('generated');
  return {
    name: identifier(tokens[0]),
    type: TYPES[type] ?? type,
    notNull: has('not', 'null') || has('primary', 'key') || isSerial,
    defaultText: defaultText(modifiers),
    isSerial,
  };
}

function defaultText(modifiers: readonly Token[]): string | undefined {
  const at = modifiers.findIndex((token) => isOneOf(token, 'default'));
  if (at < 0) return undefined;
  const rest = modifiers.slice(at + 1);
  const end = rest.findIndex((token) => isOneOf(token, 'not', 'null', 'primary', 'references', 'unique', 'check'));
  return render(end < 0 ? rest : rest.slice(0, end)) || undefined;
}

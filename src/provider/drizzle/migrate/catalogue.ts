import { sql } from 'drizzle-orm';
import { NATIVE_BOOKKEEPING, OWN_BOOKKEEPING } from '../../../schema/table-names.js';
import type { Executor } from '../executor.js';
import { type Cell, booleanCell, compile, integerCell, textCell } from '../statement.js';

/** A column as it is. */
export interface CatalogueColumn {
  readonly type: string;
  readonly notNull: boolean;
  readonly hasDefault: boolean;
}

export interface CatalogueTable {
  /** `r` and `p` are tables; anything else only occupies the name. */
  readonly kind: string;
  readonly readable: boolean;
  readonly columns: ReadonlyMap<string, CatalogueColumn>;
}

export interface CatalogueIndex {
  readonly table: string;
  readonly columns: readonly string[];
  readonly partial: boolean;
  /** False while it is built, and for ever when building it failed. */
  readonly valid: boolean;
}

export interface CatalogueFunction {
  readonly name: string;
  /** Types of the arguments, `bigint, text`. */
  readonly argumentTypes: string;
  /** md5 of the body, to tell one version from another. */
  readonly bodyHash: string;
}

/** What stands in a schema, of the names we asked for. */
export interface Catalogue {
  readonly schemaExists: boolean;
  readonly mayUse: boolean;
  readonly tables: ReadonlyMap<string, CatalogueTable>;
  readonly indexes: ReadonlyMap<string, CatalogueIndex>;
  /** Tables with an enabled trigger `ddz_notify`. */
  readonly notifyTriggers: ReadonlySet<string>;
  readonly functions: readonly CatalogueFunction[];
}

type Row = readonly Cell[];

// One statement, so that everything is seen in one snapshot. `pg_catalog` and not
// `information_schema`: the latter hides what the role may not use.
const look = compile<Row>(
  sql`
    select 'schema', n.nspname, has_schema_privilege(n.oid, 'USAGE')::text, null, null, null
      from pg_catalog.pg_namespace n where n.nspname = ${sql.placeholder('schema')}
    union all
    select 'table', c.relname, c.relkind::text, coalesce(has_table_privilege(c.oid, 'SELECT'), false)::text, null, null
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${sql.placeholder('schema')} and c.relname = any(${sql.placeholder('tables')}::text[])
        and c.relkind in ('r', 'p', 'v', 'm', 'f')
    union all
    select 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
        (a.atthasdef or a.attidentity <> '')::text
      from pg_catalog.pg_attribute a
      join pg_catalog.pg_class c on c.oid = a.attrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${sql.placeholder('schema')} and c.relname = any(${sql.placeholder('tables')}::text[])
        and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    union all
    select 'index', i.relname, c.relname,
        (select string_agg(k.attname, ',' order by k.attnum) from pg_catalog.pg_attribute k
           where k.attrelid = x.indexrelid),
        (x.indpred is not null)::text, (x.indisvalid and x.indisready)::text
      from pg_catalog.pg_index x
      join pg_catalog.pg_class i on i.oid = x.indexrelid
      join pg_catalog.pg_class c on c.oid = x.indrelid
      join pg_catalog.pg_namespace n on n.oid = i.relnamespace
      where n.nspname = ${sql.placeholder('schema')} and i.relname like 'ddz\\_%'
    union all
    select 'trigger', c.relname, null, null, null, null
      from pg_catalog.pg_trigger t
      join pg_catalog.pg_class c on c.oid = t.tgrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${sql.placeholder('schema')} and t.tgname = 'ddz_notify' and t.tgenabled <> 'D'
    union all
    select 'function', p.proname, oidvectortypes(p.proargtypes), md5(p.prosrc), null, null
      from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      where n.nspname = ${sql.placeholder('schema')} and p.proname = any(${sql.placeholder('functions')}::text[])`,
  (cells) => cells,
);

/** Reads the catalogue; needs no privilege on the schema, takes no lock and changes nothing. */
export async function readCatalogue(
  executor: Executor,
  names: { readonly schema: string; readonly tables: readonly string[]; readonly functions: readonly string[] },
): Promise<Catalogue> {
  const rows = await executor.run(look, { ...names });
  const of = (kind: string) => rows.filter(([first]) => first === kind);
  const [schema] = of('schema');
  const columns = of('column');
  return {
    schemaExists: schema !== undefined,
    mayUse: schema !== undefined && booleanCell(schema[2]),
    tables: new Map(
      of('table').map(([, name, kind, readable]) => [
        textCell(name),
        {
          kind: textCell(kind),
          readable: booleanCell(readable),
          columns: new Map(columns.filter(([, table]) => table === name).map(columnEntry)),
        },
      ]),
    ),
    indexes: new Map(
      of('index').map(([, name, table, definition, partial, valid]) => [
        textCell(name),
        {
          table: textCell(table),
          columns: textCell(definition).split(','),
          partial: booleanCell(partial),
          valid: booleanCell(valid),
        },
      ]),
    ),
    notifyTriggers: new Set(of('trigger').map(([, table]) => textCell(table))),
    functions: of('function').map(([, name, argumentTypes, bodyHash]) => ({
      name: textCell(name),
      argumentTypes: textCell(argumentTypes),
      bodyHash: textCell(bodyHash),
    })),
  };
}

function columnEntry([, , name, type, notNull, hasDefault]: Row): [string, CatalogueColumn] {
  return [
    textCell(name),
    { type: textCell(type), notNull: booleanCell(notNull), hasDefault: booleanCell(hasDefault) },
  ];
}

/** Versions in native's bookkeeping, ascending. `quotedSchema` is a validated, quoted name. */
export async function readNativeVersions(executor: Executor, quotedSchema: string): Promise<number[]> {
  const table = sql.raw(`${quotedSchema}.${NATIVE_BOOKKEEPING}`);
  return executor.run(compile(sql`select version from ${table} order by version`, ([version]) => integerCell(version)));
}

/** A row of `ddz_migrations`. */
export interface OwnRecord {
  readonly name: string;
  readonly kind: string;
}

/** Our own bookkeeping. `quotedSchema` is a validated, quoted name. */
export async function readOwnRecords(executor: Executor, quotedSchema: string): Promise<OwnRecord[]> {
  const table = sql.raw(`${quotedSchema}.${OWN_BOOKKEEPING}`);
  return executor.run(
    compile(sql`select name, kind from ${table} order by name`, ([name, kind]) => ({
      name: textCell(name),
      kind: textCell(kind),
    })),
  );
}

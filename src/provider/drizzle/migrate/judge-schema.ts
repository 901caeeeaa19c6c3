import type { Migration } from '../../../schema/migration.js';
import { additionNames } from './additions.js';
import type { Catalogue, CatalogueTable, OwnRecord } from './catalogue.js';
import { baseTableNames, expectedColumns } from './expected-objects.js';
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

/** What a schema is judged by (provider.md 1.5). */
export interface Judged {
  readonly schema: string;
  readonly catalogue: Catalogue;
  readonly migrations: readonly Migration[];
  readonly allowNewer: boolean;
}

export interface Verdict {
  readonly origin: SchemaOrigin;
  /** Set when the schema cannot be used as it is. */
  readonly refusal?: SchemaError | undefined;
}

/** Native's bookkeeping is there: adopt what is complete, refuse the rest (provider.md 1.5). */
export function judgeNative(judged: Judged, versions: readonly number[], records: readonly OwnRecord[]): Verdict {
  const { schema, allowNewer } = judged;
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
export function judgeOurs(judged: Judged, records: readonly OwnRecord[]): Verdict {
  const { schema } = judged;
  const refuse = (kind: SchemaErrorKind, reason: string): Verdict => ({
    origin: 'ours',
    refusal: new SchemaError(kind, schema, reason),
  });
  const known = new Set(judged.migrations.map(({ name }) => name));
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
export function judgeUnrecorded({ schema, catalogue }: Judged): Verdict {
  const occupied = baseTableNames.filter((name) => catalogue.tables.has(name));
  if (occupied.length === 0) return { origin: 'absent' };
  return {
    origin: 'absent',
    refusal: new SchemaError(
      'occupied',
      schema,
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

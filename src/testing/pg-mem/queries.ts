import type { IMemoryDb, ISchema, QueryOrAst, QueryResult } from 'pg-mem';
import { bind, type Parameter, Parameters } from './parameters.js';
import { type ResultSet, toResultSet } from './result-set.js';
import { rewrite, type Surroundings } from './rewrite.js';
import { type Token } from './tokens.js';
import { mentions, returnsRows, type SplitStatement, splitWith, type WithPart, writes } from './with-parts.js';

/** pg-mem's parser, which its types hide. */
interface SqlParser {
  parse(sql: string): SyntaxTree[];
}
type SyntaxTree = Extract<QueryOrAst, readonly unknown[]>[number];

/** A part of a WITH that has been run. */
interface Answered {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Runs one statement on pg-mem, rewritten into its dialect. All of it happens, or nothing. */
export function runQuery(
  db: IMemoryDb,
  statement: readonly Token[],
  given: readonly Parameter[],
  surroundings: Surroundings,
): ResultSet {
  const run = (text: string, { values }: Parameters): QueryResult => {
    const schema = db.getSchema(surroundings.currentSchema) as ISchema & SqlParser;
    // Parsing takes most of the time, and pg-mem remembers the texts that it parsed.
    return schema.query(bind(schema.parse(`${text};`), values));
  };
  const split = splitWith(statement);
  const command = String(split.main[0]?.text).toUpperCase();
  if (split.parts.length === 0 || ![split.main, ...split.parts.map(({ body }) => body)].some(writes)) {
    const parameters = new Parameters(given);
    return toResultSet(run(rewrite(statement, parameters, surroundings), parameters), command);
  }

  const backup = db.backup();
  try {
    return toResultSet(runParts(split, given, surroundings, run), command);
  } catch (error) {
    backup.restore();
    throw error;
  }
}

/**
 * A writing WITH, part by part. pg-mem looks a part up again for each row that asks for
 * it, while other parts change the tables, and wants a SELECT at the end. Here each part
 * is run once, and those after it see its rows as VALUES.
 */
function runParts(
  { parts, main }: SplitStatement,
  given: readonly Parameter[],
  surroundings: Surroundings,
  run: (text: string, parameters: Parameters) => QueryResult,
): QueryResult {
  const answered: Answered[] = [];
  const runPart = (body: readonly Token[]): QueryResult => {
    const parameters = new Parameters(given);
    const known = answered.filter(({ name }) => mentions(body, name)).map((part) => asValues(part, parameters));
    const text = rewrite(body, parameters, surroundings);
    return run(known.length === 0 ? text : behind(known, body, text), parameters);
  };
  for (const part of parts) {
    const result = runPart(part.body);
    if (returnsRows(part.body)) answered.push(answer(part, result));
  }
  return runPart(main);
}

/** A statement behind parts that are known. */
function behind(known: readonly string[], body: readonly Token[], text: string): string {
  if (!writes(body)) return `WITH ${known.join(', ')} ${text}`;
  const returning = returnsRows(body) ? text : `${text} RETURNING 1`;
  return `WITH ${known.join(', ')}, ddz_last_part AS (${returning}) SELECT * FROM ddz_last_part`;
}

function answer({ name, columns }: WithPart, { fields, rows }: QueryResult): Answered {
  const names = fields.map((field) => field.name);
  return {
    name,
    columns: fields.map(({ type }, i) => ({
      name: columns?.[i] ?? names[i] ?? `column${i + 1}`,
      type: String(type) === 'null' ? 'text' : String(type),
    })),
    rows: (rows as Readonly<Record<string, unknown>>[]).map((row) => names.map((column) => row[column])),
  };
}

function asValues({ name, columns, rows }: Answered, parameters: Parameters): string {
  const names = columns.map((column) => `"${column.name}"`);
  if (rows.length === 0) {
    const nulls = columns.map(({ type }, i) => `NULL::${type} AS ${names[i]}`);
    return `"${name}" AS (SELECT ${nulls.join(', ')} WHERE false)`;
  }
  const tuples = rows.map(
    (row) => `(${row.map((value, i) => `${parameters.add(value)}::${columns[i]?.type}`).join(', ')})`,
  );
  // The limit keeps pg-mem from asking VALUES for statistics, which it cannot answer.
  return `"${name}" AS (SELECT * FROM (VALUES ${tuples.join(', ')}) AS v(${names.join(', ')}) LIMIT ${rows.length})`;
}

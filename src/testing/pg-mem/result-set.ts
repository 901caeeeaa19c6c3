import type { QueryResult } from 'pg-mem';
import type { Cell } from '../../provider/drizzle/statement.js';

/** What a server sends back: cells as text, so that any driver's type parsers can work on them. */
export interface ResultSet {
  readonly command: string;
  /** `null` for commands that count nothing. */
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly Cell[])[];
}

/** The types' numbers in PostgreSQL; pg-mem has its own. Arrays and the rest are sent as text. */
const TYPE_IDS: Readonly<Record<string, number>> = {
  bool: 16,
  bytea: 17,
  bigint: 20,
  integer: 23,
  text: 25,
  json: 114,
  float: 701,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  timetz: 1266,
  decimal: 1700,
  uuid: 2950,
  jsonb: 3802,
};
const TEXT_ID = 25;
const TEXT_ARRAY_ID = 1009;

export function toResultSet(result: QueryResult, command: string): ResultSet {
  const fields = result.fields.map(({ name, type }) => ({ name, dataTypeID: typeId(type) }));
  const rows = result.rows as Readonly<Record<string, unknown>>[];
  const keys = keysOf(fields, rows[0]);
  const types = result.fields.map(({ type }) => String(type));
  return {
    command,
    rowCount: command === 'SELECT' || command === 'VALUES' ? rows.length : result.rowCount,
    fields,
    rows: rows.map((row) => keys.map((key, i) => toCell(row[key], types[i]))),
  };
}

/** pg-mem's rows are objects; columns of one name get a number appended there, in the order of the columns. */
function keysOf(fields: ResultSet['fields'], row: Readonly<Record<string, unknown>> | undefined): string[] {
  const names = fields.map(({ name }) => name);
  if (row === undefined || new Set(names).size === names.length) return names;
  return Object.keys(row);
}

function typeId(type: unknown): number {
  return type === 'array' ? TEXT_ARRAY_ID : (TYPE_IDS[String(type)] ?? TEXT_ID);
}

function toCell(value: unknown, type: string | undefined): Cell {
  if (value === null || value === undefined) return null;
  if (type === 'json' || type === 'jsonb') return JSON.stringify(value);
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
      return value ? 't' : 'f';
    case 'number':
    case 'bigint':
      return String(value);
    default:
  }
  if (value instanceof Date) return momentText(value, type);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return arrayText(value);
  return JSON.stringify(value);
}

/** `2026-01-31 12:00:00.123+00`, as a server in UTC prints it. */
function momentText(value: Date, type: string | undefined): string {
  const [date = '', time = ''] = value.toISOString().replace('Z', '').split('T');
  if (type === 'date') return date;
  const text = `${date} ${time.replace(/\.?0+$/, '')}`;
  return type === 'timestamptz' ? `${text}+00` : text;
}

function arrayText(values: readonly unknown[]): string {
  const element = (value: unknown): string => {
    if (value === null || value === undefined) return 'NULL';
    if (Array.isArray(value)) return arrayText(value);
    return `"${(toCell(value, undefined) ?? '').replace(/["\\]/g, '\\$&')}"`;
  };
  return `{${values.map(element).join(',')}}`;
}

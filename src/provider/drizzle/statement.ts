import type { SQL } from 'drizzle-orm';
import { Placeholder } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { fnv1a64Hex } from '../../base/fnv1a.js';
import type { SqlValue, SqlValues } from './executor.js';

/** A cell as the server sent it, in text; null is SQL's null. Never parsed by a driver (P:T-30). */
export type Cell = string | null;

/** How the cells of one row become a value. */
export type DecodeRow<Row> = (cells: readonly Cell[]) => Row;

/**
 * A statement compiled once and run on any connection. Drizzle's own prepared
 * queries are bound to the session they were built on, which a pool and PGlite's
 * transaction objects defeat (provider.md 3.4.8).
 */
export interface Statement<Row> {
  /** `ddz_` + hash of the text: equal texts share a name, different texts never do. */
  readonly name: string;
  readonly text: string;
  readonly decode: DecodeRow<Row>;
  /** Which parameters, from 0 on, are lists that the statement takes as `text[]`. */
  readonly textArrays?: ReadonlySet<number>;
  /** The parameters in the order of `$1, $2, …`. */
  bind(values: SqlValues): SqlValue[];
}

/** Whatever Drizzle's builder or its `sql` template produced. */
export interface Compilable {
  getSQL(): SQL;
}

const dialect = new PgDialect();

/**
 * Compiles a query of Drizzle's builder or a `sql` template. Values that change from
 * run to run are `sql.placeholder(name)`; a placeholder used twice is two parameters.
 */
export function compile<Row = void>(query: Compilable, decode: DecodeRow<Row>): Statement<Row> {
  const { sql: text, params } = dialect.sqlToQuery(query.getSQL());
  const slots = params as readonly unknown[];
  return {
    name: `ddz_${fnv1a64Hex(text)}`,
    text,
    decode,
    textArrays: new Set([...text.matchAll(/\$(\d+)::text\[\]/g)].map(([, number]) => Number(number) - 1)),
    bind: (values) => slots.map((slot) => valueOf(slot, values, text)),
  };
}

function valueOf(slot: unknown, values: SqlValues, text: string): SqlValue {
  const name = placeholderName(slot);
  if (name === undefined) return slot as SqlValue;
  const value = values[name];
  if (value === undefined) throw new TypeError(`no value for placeholder '${name}' of: ${text.slice(0, 120)}`);
  return value;
}

function placeholderName(slot: unknown): string | undefined {
  if (slot instanceof Placeholder) return String(slot.name);
  // A placeholder beside a column arrives wrapped in a `Param` that would encode it.
  const inner = (slot as { value?: unknown } | null)?.value;
  return inner instanceof Placeholder ? String(inner.name) : undefined;
}

/** For statements that answer nothing of interest. */
export const noRow: DecodeRow<undefined> = () => undefined;

/** A cell that is never null. */
export function textCell(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) throw new TypeError('unexpected NULL in a result');
  return cell;
}

/** An integer cell, exact up to 2^53. */
export function integerCell(cell: Cell | undefined): number {
  const value = Number(textCell(cell));
  if (!Number.isSafeInteger(value)) throw new TypeError('an integer of a result does not fit a double');
  return value;
}

export function optionalIntegerCell(cell: Cell | undefined): number | null {
  return cell === null || cell === undefined ? null : integerCell(cell);
}

export function booleanCell(cell: Cell | undefined): boolean {
  const text = textCell(cell);
  return text === 't' || text === 'true';
}

/** A `timestamptz` cell in Unix ms; what is finer is cut off. */
export function momentCell(cell: Cell | undefined): number {
  const text = textCell(cell);
  const [, date, time, sign, hours, minutes = '00'] =
    /^(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d*([+-])(\d\d)(?::?(\d\d))?/.exec(text) ?? [];
  const year = date === undefined ? '' : `${date.length > 10 ? `+${date.padStart(12, '0')}` : date}`;
  const ms = Date.parse(`${year}T${time}${sign}${hours}:${minutes}`);
  if (Number.isNaN(ms)) throw new TypeError('a timestamp of a result is not ISO: the DateStyle of the database must be ISO');
  return ms;
}

export function optionalMomentCell(cell: Cell | undefined): number | null {
  return cell === null || cell === undefined ? null : momentCell(cell);
}

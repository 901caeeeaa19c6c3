/**
 * A client of postgres-js may have `transform.row`, a function of the application's that
 * changes every row, raw ones included. Ours must come as the server sent them (C-22), and
 * the application's queries on the same client must go on being transformed.
 *
 * The row parser asks the query whether it is raw before it fills a row, and hands the row
 * to the transform in the same tick. So our queries answer that question with a note, and
 * the transform lets a row through that follows one.
 */

/** What a client's options say about rows; shared by all its connections. */
export interface RowTransform {
  from?: ((row: unknown) => unknown) | undefined;
}

const SPARES_OWN_ROWS = Symbol.for('duroxide-drizzle.spares-own-rows');

/** Where two copies of this package meet on one client: the note is the client's, not the copy's. */
interface SparingTransform {
  (row: unknown): unknown;
  [SPARES_OWN_ROWS]?: true;
}

/** Global, because two copies of the package may share a client. A flag of one synchronous call. */
const NOTE = Symbol.for('duroxide-drizzle.own-row');
const notes = globalThis as unknown as Record<symbol, boolean | undefined>;

/** Makes the transform of a client, if it has one, leave our rows alone. Once per client. */
export function sparingOwnRows(transform: RowTransform | undefined): void {
  const original: SparingTransform | undefined = transform?.from;
  if (transform === undefined || typeof original !== 'function' || original[SPARES_OWN_ROWS]) return;
  const sparing: SparingTransform = (row) => {
    if (notes[NOTE] !== true) return original(row);
    notes[NOTE] = false;
    return row;
  };
  sparing[SPARES_OWN_ROWS] = true;
  transform.from = sparing;
}

/** Marks the rows of a raw query as ours. */
export function markOwnRows<Q extends object>(query: Q): Q {
  return Object.defineProperty(query, 'isRaw', {
    get() {
      notes[NOTE] = true;
      return true;
    },
    set() {},
    configurable: true,
  });
}

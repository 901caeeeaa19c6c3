/**
 * A client of postgres-js may have `transform.row`, a function of the application's that
 * changes every row, raw ones included. Ours must come as the server sent them (C-22), and
 * the application's queries on the same client must go on being transformed.
 *
 * The row parser asks the query whether it is raw while it fills a row, and hands the row
 * to the transform in the same tick. So our queries answer that question with a note, and
 * the transform lets the row through that follows one.
 */

const SPARES = Symbol.for('duroxide-drizzle.spares-own-rows');

/** What a client's options say about rows; one object for all connections of the client. */
export interface RowTransform {
  from?: ((row: unknown) => unknown) | undefined;
  /** Set once it lets our rows through; by a symbol of all copies of this package, which may share a client. */
  [SPARES]?: { nextRowIsOurs: boolean };
}

/**
 * Makes the transform of a client, if it has one, leave our rows alone.
 * @returns what marks a raw query as ours
 */
export function sparingOwnRows(transform: RowTransform | undefined): <Query extends object>(query: Query) => Query {
  const original = transform?.from;
  if (transform === undefined || typeof original !== 'function') return (query) => query;
  const note = transform[SPARES] ?? install(transform, original);
  return (query) =>
    Object.defineProperty(query, 'isRaw', {
      get() {
        note.nextRowIsOurs = true;
        return true;
      },
    });
}

function install(transform: RowTransform, original: (row: unknown) => unknown): { nextRowIsOurs: boolean } {
  const note = { nextRowIsOurs: false };
  transform[SPARES] = note;
  transform.from = (row) => {
    if (!note.nextRowIsOurs) return original(row);
    note.nextRowIsOurs = false;
    return row;
  };
  return note;
}

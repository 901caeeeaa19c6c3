import {
  afterParenthesis,
  identifier,
  isOneOf,
  nameAt,
  splitAtCommas,
  sqlToken,
  startsWith,
  type Token,
} from './tokens.js';

/** The DEFAULT of a column as SQL text; `NULL` where it has none, and for serials, which count on by themselves. */
export type DefaultOf = (table: { schema?: string; name: string }, column: string) => string;

/**
 * Writes the expressions for DEFAULT into an `INSERT … VALUES`. With several rows
 * pg-mem takes DEFAULT for NULL if another row has a value in that column, and Drizzle
 * writes DEFAULT for every field that a row leaves out.
 */
export function withDefaultValues(tokens: readonly Token[], defaultOf: DefaultOf): readonly Token[] {
  if (!startsWith(tokens, 0, 'insert', 'into')) return tokens;
  const table = nameAt(tokens, 2);
  if (!isOneOf(tokens[table.next], '(')) return tokens;
  const afterColumns = afterParenthesis(tokens, table.next);
  if (!startsWith(tokens, afterColumns, 'values', '(')) return tokens;
  const columns = splitAtCommas(tokens.slice(table.next + 1, afterColumns - 1)).map(([name]) => identifier(name));

  const out = tokens.slice(0, afterColumns + 1);
  let at = afterColumns + 1;
  while (isOneOf(tokens[at], '(')) {
    const next = afterParenthesis(tokens, at);
    const values = splitAtCommas(tokens.slice(at + 1, next - 1)).map((value, i) =>
      isOneOf(value[0], 'default') ? [sqlToken(defaultOf(table, columns[i] ?? ''))] : value,
    );
    const withCommas = values.flatMap((value, i) => (i === 0 ? value : [sqlToken(',', ''), ...value]));
    out.push(sqlToken('('), ...withCommas, sqlToken(')', ''));
    at = next;
    if (isOneOf(tokens[at], ',')) out.push(tokens[at++] as Token);
  }
  return [...out, ...tokens.slice(at)];
}

import { afterParenthesis, identifier, isOneOf, splitAtCommas, type Token } from './tokens.js';

/** A named part of a WITH. */
export interface WithPart {
  readonly name: string;
  /** Names that stand behind the part's name, where there are any. */
  readonly columns: readonly string[] | undefined;
  readonly body: readonly Token[];
}

/** A statement taken apart; without a WITH there are no parts. */
export interface SplitStatement {
  readonly parts: readonly WithPart[];
  readonly main: readonly Token[];
}

export function splitWith(tokens: readonly Token[]): SplitStatement {
  if (!isOneOf(tokens[0], 'with')) return { parts: [], main: tokens };
  const parts: WithPart[] = [];
  for (let at = 1; ; at++) {
    const name = identifier(tokens[at++]);
    let columns: string[] | undefined;
    if (isOneOf(tokens[at], '(')) {
      const end = afterParenthesis(tokens, at);
      columns = splitAtCommas(tokens.slice(at + 1, end - 1)).map(([column]) => identifier(column));
      at = end;
    }
    // AS, and perhaps [NOT] MATERIALIZED
    while (at < tokens.length && !isOneOf(tokens[at], '(')) at++;
    const end = afterParenthesis(tokens, at);
    parts.push({ name, columns, body: tokens.slice(at + 1, end - 1) });
    at = end;
    if (!isOneOf(tokens[at], ',')) return { parts, main: tokens.slice(at) };
  }
}

export function writes(statement: readonly Token[]): boolean {
  return isOneOf(statement[0], 'insert', 'update', 'delete');
}

/** Whether the statement mentions the name of a part. */
export function mentions(statement: readonly Token[], name: string): boolean {
  return statement.some((token) => (token.kind === 'word' || token.kind === 'quoted') && identifier(token) === name);
}

/** Whether a writing statement answers with rows. */
export function returnsRows(statement: readonly Token[]): boolean {
  return !writes(statement) || statement.some((token) => isOneOf(token, 'returning'));
}

import { type DefaultOf, withDefaultValues } from './default-values.js';
import { Parameters } from './parameters.js';
import { afterExistence, afterParenthesis, isOneOf, render, sqlToken, startsWith, type Token } from './tokens.js';

/**
 * The text of a statement of the subset of provider.md 3.4.9 as pg-mem understands it.
 * Its parameters get new numbers, those of `parameters`.
 */
export function rewrite(statement: readonly Token[], parameters: Parameters, surroundings: Surroundings): string {
  const tokens = withDefaultValues(withSchemaOfTable(statement, surroundings.currentSchema), surroundings.defaultOf);
  return render(rewriteTokens(tokens, parameters));
}

/** What a statement's meaning depends on. */
export interface Surroundings {
  readonly currentSchema: string;
  /** The expression that a column has for DEFAULT. */
  readonly defaultOf: DefaultOf;
}

/** pg-mem makes a table without a schema name in `public`, whatever the `search_path`. */
function withSchemaOfTable(tokens: readonly Token[], currentSchema: string): readonly Token[] {
  if (!isOneOf(tokens[0], 'create', 'alter') || !isOneOf(tokens[1], 'table')) return tokens;
  const at = afterExistence(tokens, 2);
  if (isOneOf(tokens[at + 1], '.')) return tokens;
  return tokens.toSpliced(at, 0, sqlToken(`"${currentSchema}".`));
}

/** A rule looks at one place and answers with its replacement and where to go on, or with nothing. */
type Rule = (tokens: readonly Token[], at: number, parameters: Parameters) => Rewritten | undefined;
interface Rewritten {
  readonly tokens: readonly Token[];
  readonly next: number;
}

const rules: readonly Rule[] = [
  withoutLockingClause,
  withoutCollation,
  withoutMaterialized,
  withoutConflictTarget,
  wholeEpoch,
  unnestAsValues,
  anyAsIn,
  typeName,
  parameter,
];

function rewriteTokens(tokens: readonly Token[], parameters: Parameters): Token[] {
  const out: Token[] = [];
  for (let at = 0; at < tokens.length;) {
    const rewritten = firstMatch(tokens, at, parameters);
    const token = tokens[at] as Token;
    if (rewritten === undefined) out.push(token);
    else out.push(...rewritten.tokens);
    at = rewritten?.next ?? at + 1;
  }
  return out;
}

function firstMatch(tokens: readonly Token[], at: number, parameters: Parameters): Rewritten | undefined {
  for (const rule of rules) {
    const rewritten = rule(tokens, at, parameters);
    if (rewritten !== undefined) return rewritten;
  }
  return undefined;
}

/** `FOR UPDATE OF t SKIP LOCKED`: one transaction runs at a time, so nothing is ever locked. */
function withoutLockingClause(tokens: readonly Token[], at: number): Rewritten | undefined {
  const strengths = [
    ['for', 'update'],
    ['for', 'no', 'key', 'update'],
    ['for', 'share'],
    ['for', 'key', 'share'],
  ];
  const strength = strengths.find((words) => startsWith(tokens, at, ...words));
  if (strength === undefined) return undefined;
  let next = at + strength.length;
  if (isOneOf(tokens[next], 'of')) {
    // Names of tables, with dots and commas between them.
    do next += 2;
    while (isOneOf(tokens[next], ',', '.'));
  }
  if (isOneOf(tokens[next], 'nowait')) next++;
  if (startsWith(tokens, next, 'skip', 'locked')) next += 2;
  return { tokens: [], next };
}

/** pg-mem compares text by code units and knows no collations. */
function withoutCollation(tokens: readonly Token[], at: number): Rewritten | undefined {
  return isOneOf(tokens[at], 'collate') ? { tokens: [], next: at + 2 } : undefined;
}

function withoutMaterialized(tokens: readonly Token[], at: number): Rewritten | undefined {
  if (startsWith(tokens, at, 'materialized', '(')) return { tokens: [], next: at + 1 };
  if (startsWith(tokens, at, 'not', 'materialized', '(')) return { tokens: [], next: at + 2 };
  return undefined;
}

/**
 * `ON CONFLICT (key) DO NOTHING`: with a target pg-mem returns the row that stood in
 * the way, without one it returns nothing, as PostgreSQL does.
 */
function withoutConflictTarget(tokens: readonly Token[], at: number): Rewritten | undefined {
  if (!startsWith(tokens, at, 'on', 'conflict', '(')) return undefined;
  const next = afterParenthesis(tokens, at + 2);
  return startsWith(tokens, next, 'do', 'nothing') ? { tokens: tokens.slice(at, at + 2), next } : undefined;
}

/** `extract(epoch from …)`: pg-mem cuts off what is finer than a second. */
function wholeEpoch(tokens: readonly Token[], at: number): Rewritten | undefined {
  if (!startsWith(tokens, at, 'extract', '(', 'epoch', 'from')) return undefined;
  return { tokens: [sqlToken(' ddz_epoch'), sqlToken('(')], next: at + 4 };
}

/** `unnest($1::text[], …) [AS] u(a, …)`: the arrays' elements become rows of VALUES. */
function unnestAsValues(tokens: readonly Token[], at: number, parameters: Parameters): Rewritten | undefined {
  if (!startsWith(tokens, at, 'unnest', '(')) return undefined;
  const close = afterParenthesis(tokens, at + 1);
  const columns = unnestColumns(tokens.slice(at + 2, close - 1), parameters);
  const aliasAt = isOneOf(tokens[close], 'as') ? close + 1 : close;
  const alias = tokens[aliasAt];
  if (alias === undefined || !isOneOf(tokens[aliasAt + 1], '(')) {
    throw new SyntaxError('the pg-mem adapter knows unnest only as: unnest($1::type[], …) AS name(column, …)');
  }
  const next = afterParenthesis(tokens, aliasAt + 1);
  const names = tokens.slice(aliasAt + 2, next - 1).filter((token) => !isOneOf(token, ','));
  return { tokens: [sqlToken(rowsOf(columns, names, alias))], next };
}

interface UnnestColumn {
  readonly type: string;
  readonly values: readonly string[];
}

function unnestColumns(tokens: readonly Token[], parameters: Parameters): UnnestColumn[] {
  const columns: UnnestColumn[] = [];
  for (let at = 0; at < tokens.length;) {
    const { name, type, next } = arrayParameter(tokens, at);
    columns.push({ type: type ?? 'text', values: parameters.elements(name) });
    at = isOneOf(tokens[next], ',') ? next + 1 : tokens.length;
  }
  return columns;
}

function rowsOf(columns: readonly UnnestColumn[], names: readonly Token[], alias: Token): string {
  const length = Math.max(...columns.map(({ values }) => values.length));
  if (length === 0) {
    const nulls = columns.map(({ type }, i) => `NULL::${type} AS ${names[i]?.text ?? `column${i + 1}`}`);
    return `(SELECT ${nulls.join(', ')} WHERE false) AS ${alias.text}`;
  }
  const rows = Array.from(
    { length },
    (_, row) => `(${columns.map(({ type, values }) => `${values[row] ?? 'NULL'}::${type}`).join(', ')})`,
  );
  return `(VALUES ${rows.join(', ')}) AS ${alias.text}(${names.map(({ text }) => text).join(', ')})`;
}

/** `= ANY($1::text[])` as `IN (…)`, which pg-mem answers right on keyed columns; `<> ALL` likewise. */
function anyAsIn(tokens: readonly Token[], at: number, parameters: Parameters): Rewritten | undefined {
  const isAny = startsWith(tokens, at, '=', 'any', '(');
  if (!isAny && !startsWith(tokens, at, '<>', 'all', '(') && !startsWith(tokens, at, '!=', 'all', '('))
    return undefined;
  if (tokens[at + 3]?.kind !== 'parameter') return undefined;
  const { name, type, next } = arrayParameter(tokens, at + 3);
  if (!isOneOf(tokens[next], ')')) return undefined;
  const values = parameters.elements(name).map((value) => (type === undefined ? value : `${value}::${type}`));
  const list = values.length === 0 ? ['NULL'] : values;
  // Nothing is in an empty list, and everything is outside of it.
  if (!isAny && values.length === 0) return { tokens: [sqlToken('IS NOT NULL')], next: next + 1 };
  if (isAny) return { tokens: [sqlToken(`IN (${list.join(', ')})`)], next: next + 1 };
  // NOT IN on a key fails in pg-mem; on an expression it looks at every row.
  const [first] = parameters.valueOf(name) as readonly unknown[];
  const expression = typeof first === 'string' && !/int/.test(type ?? '') ? "|| ''" : '+ 0';
  return { tokens: [sqlToken(`${expression} NOT IN (${list.join(', ')})`)], next: next + 1 };
}

/** `$1::text[]`, `$1` or `cast($1 as text[])`, which starts at `at`. */
function arrayParameter(
  tokens: readonly Token[],
  at: number,
): { name: string; type: string | undefined; next: number } {
  const isCast = startsWith(tokens, at, 'cast', '(');
  const nameAt = isCast ? at + 2 : at;
  const parameter = tokens[nameAt];
  if (parameter?.kind !== 'parameter') throw new SyntaxError('the pg-mem adapter expects a parameter as the array');
  const name = parameter.text;
  if (!isOneOf(tokens[nameAt + 1], isCast ? 'as' : '::')) return { name, type: undefined, next: nameAt + 1 };
  let next = nameAt + 2;
  while (next < tokens.length && !isOneOf(tokens[next], '[', ',', ')')) next++;
  const type = render(rewriteTokens(tokens.slice(nameAt + 2, next), new Parameters([])));
  if (startsWith(tokens, next, '[', ']')) next += 2;
  return { name, type, next: isCast ? next + 1 : next };
}

/** Types that pg-mem knows by another name only. */
function typeName(tokens: readonly Token[], at: number): Rewritten | undefined {
  const other = { float8: 'float', float4: 'float', int2: 'smallint', xid8: 'bigint' } as Record<string, string>;
  const token = tokens[at];
  const name = token?.kind === 'word' ? other[token.text.toLowerCase()] : undefined;
  return name === undefined || isOneOf(tokens[at - 1], '.')
    ? undefined
    : { tokens: [sqlToken(name, token?.lead)], next: at + 1 };
}

function parameter(tokens: readonly Token[], at: number, parameters: Parameters): Rewritten | undefined {
  const token = tokens[at];
  if (token?.kind !== 'parameter') return undefined;
  return { tokens: [sqlToken(parameters.scalar(token.text), token.lead)], next: at + 1 };
}

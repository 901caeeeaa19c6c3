/** A piece of SQL text; `lead` is the white space and the comments before it. */
export interface Token {
  readonly kind: 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'symbol';
  readonly text: string;
  readonly lead: string;
}

const PATTERNS: readonly (readonly [Token['kind'], string])[] = [
  // With its prefix (E'', B'', U&''), or between dollars.
  [
    'string',
    String.raw`[eE]'(?:[^'\\]|\\.|'')*'|(?:[bBxX]|[uU]&)?'(?:[^']|'')*'|\$(?<tag>[A-Za-z_]\w*)?\$.*?\$\k<tag>\$`,
  ],
  ['quoted', String.raw`"(?:[^"]|"")*"`],
  ['parameter', String.raw`\$\d+`],
  ['number', String.raw`\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`],
  ['word', String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`],
  ['symbol', String.raw`::|<=|>=|<>|!=|\|\||->>|->|.`],
];
const BLANK = /(?:\s+|--[^\n]*|\/\*.*?\*\/)*/sy;
const TOKEN = new RegExp(PATTERNS.map(([kind, pattern]) => `(?<${kind}>${pattern})`).join('|'), 'sy');

/** Splits SQL into tokens. It checks nothing: whatever it doesn't know is a symbol. */
export function tokenize(sql: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; ;) {
    BLANK.lastIndex = at;
    const lead = BLANK.exec(sql)?.[0] ?? '';
    TOKEN.lastIndex = at + lead.length;
    const match = TOKEN.exec(sql);
    if (match === null) return tokens;
    const kind = PATTERNS.find(([name]) => match.groups?.[name] !== undefined)?.[0] ?? 'symbol';
    // Comments are dropped: pg-mem's parser knows not all of their forms.
    tokens.push({ kind, text: match[0], lead: lead === '' ? '' : ' ' });
    at = TOKEN.lastIndex;
  }
}

/** The text of tokens. */
export function render(tokens: readonly Token[]): string {
  return tokens
    .map(({ lead, text }) => lead + text)
    .join('')
    .trim();
}

/** Whether the token is one of these keywords or symbols, which are given in lower case. */
export function isOneOf(token: Token | undefined, ...texts: readonly string[]): boolean {
  return (
    token !== undefined &&
    (token.kind === 'word' || token.kind === 'symbol') &&
    texts.includes(token.text.toLowerCase())
  );
}

/** Whether these keywords and symbols stand at `at`, one after the other. */
export function startsWith(tokens: readonly Token[], at: number, ...texts: readonly string[]): boolean {
  return texts.every((text, i) => isOneOf(tokens[at + i], text));
}

/** The index after the parenthesis that opens at `open`. */
export function afterParenthesis(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (isOneOf(tokens[at], '(')) depth++;
    if (isOneOf(tokens[at], ')') && --depth === 0) return at + 1;
  }
  throw new SyntaxError('a parenthesis is not closed');
}

/** A token of plain SQL text. */
export function sqlToken(text: string, lead = ' '): Token {
  return { kind: 'symbol', text, lead };
}

/** Steps over `IF [NOT] EXISTS`. */
export function afterExistence(tokens: readonly Token[], at: number): number {
  if (startsWith(tokens, at, 'if', 'not', 'exists')) return at + 3;
  return startsWith(tokens, at, 'if', 'exists') ? at + 2 : at;
}

/** The name that a token means: quotes taken off, or folded to lower case. */
export function identifier(token: Token | undefined): string {
  if (token === undefined) return '';
  return token.kind === 'quoted' ? token.text.slice(1, -1).replaceAll('""', '"') : token.text.toLowerCase();
}

/** A name that may have its schema in front. */
export function nameAt(tokens: readonly Token[], at: number): { schema?: string; name: string; next: number } {
  if (!isOneOf(tokens[at + 1], '.')) return { name: identifier(tokens[at]), next: at + 1 };
  return { schema: identifier(tokens[at]), name: identifier(tokens[at + 2]), next: at + 3 };
}

/** The parts between the commas outside of parentheses. */
export function splitAtCommas(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (isOneOf(token, '(')) depth++;
    if (isOneOf(token, ')')) depth--;
    if (depth === 0 && isOneOf(token, ',')) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts.filter((part) => part.length > 0);
}

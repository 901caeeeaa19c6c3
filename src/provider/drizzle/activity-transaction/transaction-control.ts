/**
 * What PostgreSQL reads as one piece: comments, strings, quoted names, and words. Words are
 * pieces, too, since inside of one neither a string with backslashes nor a dollar quote begins.
 * Of `E''`, also the parts on further lines. Other strings know no backslash, as is the
 * default of `standard_conforming_strings`. A comment in stars is only begun: they nest.
 */
const PIECE = new RegExp(
  [
    String.raw`--[^\n\r]*`,
    String.raw`\/\*`,
    String.raw`[eE]'(?:[^'\\]|\\[^]|'')*'(?:(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:\s|--[^\n\r]*[\n\r])*'(?:[^'\\]|\\[^]|'')*')*`,
    String.raw`'(?:[^']|'')*'`,
    String.raw`"(?:[^"]|"")*"`,
    String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`,
    String.raw`\$((?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[^]*?\$\1\$`,
  ].join('|'),
  'g',
);

/** Stands for a string or a name that is no plain word, so that the words around it are no neighbours. */
const OPAQUE = ' "" ';

/** A statement that ends or begins a transaction as a whole; savepoints are none of it. */
const CONTROL =
  /^\s*(commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|begin|start\s+transaction|prepare\s+transaction)\b/i;

/** Most statements are let through by this alone. */
const SUSPICIOUS = /\b(commit|end|abort|rollback|begin|start|prepare)\b/i;

const ROUTINE = /^\s*create\s+(?:or\s+replace\s+)?(?:function|procedure)\b/i;
const BODY_BEGINS = /\bbegin\s+atomic\b(?!\s+end\b)/i;
const BODY_ENDS = /^\s*end\b/i;

/**
 * The command of `sql` that would end or begin the transaction which it runs in, such as
 * `COMMIT`; `undefined` when there is none.
 */
export function transactionControl(sql: string): string | undefined {
  if (!SUSPICIOUS.test(sql)) return undefined;
  let isInBody = false;
  for (const statement of plainWords(sql).split(';')) {
    if (isInBody) {
      isInBody = !BODY_ENDS.test(statement);
      continue;
    }
    const [, command] = CONTROL.exec(statement) ?? [];
    if (command !== undefined) return command.toUpperCase().replace(/\s+/g, ' ');
    isInBody = beginsBody(statement);
  }
  return undefined;
}

/** The text without what strings, quoted names and comments contain. */
function plainWords(sql: string): string {
  let plain = '';
  for (let at = 0; ;) {
    PIECE.lastIndex = at;
    const found = PIECE.exec(sql);
    if (!found) return plain + sql.slice(at);
    const [piece] = found;
    plain += sql.slice(at, found.index);
    at = found.index + piece.length;
    if (piece === '/*') at = endOfComment(sql, at);
    if (piece === '/*' || piece.startsWith('--')) plain += ' ';
    else plain += /^\w+$/.test(piece) ? piece : OPAQUE;
  }
}

/** Behind the comment that is open at `at`, with the comments in it. */
function endOfComment(sql: string, at: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = at;
  for (let depth = 1; depth > 0;) {
    const found = mark.exec(sql);
    if (!found) return sql.length;
    depth += found[0] === '/*' ? 1 : -1;
  }
  return mark.lastIndex;
}

/**
 * Whether a routine begins whose body is SQL: up to its END the statements are the body's.
 * Not in parentheses: a parameter may be called `begin` and be of a type `atomic`.
 */
function beginsBody(statement: string): boolean {
  if (!ROUTINE.test(statement)) return false;
  let outer = statement;
  for (let inner = ''; inner !== outer;) {
    inner = outer;
    outer = inner.replace(/\([^()]*\)/g, OPAQUE);
  }
  return BODY_BEGINS.test(outer);
}

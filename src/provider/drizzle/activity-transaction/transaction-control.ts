/** What cannot end, begin or prepare a transaction, whatever it contains: strings, names, comments. */
const INERT =
  /\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** A statement that ends or begins a transaction as a whole; savepoints are none of it. */
const CONTROL =
  /^\s*(commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|begin|start\s+transaction|prepare\s+transaction)\b/i;

/** Most statements are let through by this alone. */
const SUSPICIOUS = /\b(commit|end|abort|rollback|begin|start|prepare)\b/i;

/** A function with a body in SQL has a BEGIN and an END of its own. */
const SQL_BODY = /\bbegin\s+atomic\b/i;

/**
 * The command of `sql` that would end or begin the transaction which it runs in, such as
 * `COMMIT`; `undefined` when there is none.
 */
export function transactionControl(sql: string): string | undefined {
  if (!SUSPICIOUS.test(sql) || SQL_BODY.test(sql)) return undefined;
  for (const statement of sql.replace(INERT, ' ').split(';')) {
    const [, command] = CONTROL.exec(statement) ?? [];
    if (command !== undefined) return command.toUpperCase().replace(/\s+/g, ' ');
  }
  return undefined;
}

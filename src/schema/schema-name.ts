/** PostgreSQL cuts longer identifiers off silently, and two schemas would become one. */
const MAX_SCHEMA_NAME_BYTES = 63;
/** Lower case only, so that a quoted and an unquoted use of the name mean the same schema. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]*$/;

/**
 * Refuses a schema name that does not follow the one rule (provider.md 1.1), before any
 * SQL is sent.
 * @throws RangeError naming the rule
 */
export function assertSchemaName(name: string): void {
  const valid =
    typeof name === 'string' &&
    SCHEMA_NAME.test(name) &&
    name.length <= MAX_SCHEMA_NAME_BYTES &&
    !name.startsWith('pg_');
  if (valid) return;
  throw new RangeError(
    `invalid schema name ${JSON.stringify(name)}: expected ^[a-z_][a-z0-9_]*$, at most ${MAX_SCHEMA_NAME_BYTES} bytes, ` +
      'not starting with pg_ (native duroxide folds capital letters and cannot start a second time with them)',
  );
}

/** `"name"`, for SQL text. Quoted always, so that `select` is a name like any other. @throws RangeError */
export function quoteSchemaName(name: string): string {
  assertSchemaName(name);
  return `"${name}"`;
}

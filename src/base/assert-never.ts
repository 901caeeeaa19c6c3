/**
 * Marks a `switch` as exhaustive: a new member of the union fails to compile here.
 * @throws TypeError when untyped data reaches it at run time; names the kind, never the payload.
 */
export function assertNever(value: never, what = 'value'): never {
  const kind = (value as { kind?: unknown } | null)?.kind;
  throw new TypeError(`unexpected ${what}${typeof kind === 'string' ? ` of kind '${kind}'` : ''}`);
}

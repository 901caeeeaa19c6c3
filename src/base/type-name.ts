/** What somebody gave, for messages that must not show it: `typeof`, but `null` for null. */
export function typeName(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

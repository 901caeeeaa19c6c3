/** What is longer helps nobody to find the place. */
const MAX_PATH_LENGTH = 200;
/** `JSON.stringify` itself gives up not far beyond. */
const MAX_DEPTH = 5_000;

/**
 * Where a value has what `JSON.stringify` throws at, a BigInt or a cycle, as `$.lines[2].price`;
 * `undefined` when it has neither. Walks as `JSON.stringify` does: own enumerable keys, after `toJSON`.
 */
export function unserializablePath(value: unknown): string | undefined {
  const steps: string[] = [];
  if (!hasIn({ '': value }, '', steps, new Set())) return undefined;
  const text = `$${steps.join('')}`;
  return text.length > MAX_PATH_LENGTH ? `${text.slice(0, MAX_PATH_LENGTH)}…` : text;
}

/** Whether `holder[key]` has it; `steps` leads there then. */
function hasIn(holder: object, key: string, steps: string[], open: Set<object>): boolean {
  const value = jsonOf((holder as Record<string, unknown>)[key], key);
  if (typeof value === 'bigint') return true;
  if (typeof value !== 'object' || value === null) return false;
  if (open.has(value)) return true;
  if (steps.length >= MAX_DEPTH) return false;
  open.add(value);
  for (const name of Object.keys(value)) {
    steps.push(Array.isArray(value) ? `[${name}]` : stepTo(name));
    if (hasIn(value, name, steps, open)) return true;
    steps.pop();
  }
  open.delete(value);
  return false;
}

function jsonOf(value: unknown, key: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'bigint')) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? (toJSON.call(value, key) as unknown) : value;
}

function stepTo(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

const MOST = 12;

/** Where two values differ, as lines `path: ours ≠ native`; at most a dozen. */
export function differences(ours: unknown, native: unknown): string[] {
  const found: string[] = [];
  collect('', ours, native, found);
  return found.length <= MOST ? found : [...found.slice(0, MOST), `… and ${found.length - MOST} more`];
}

function collect(path: string, ours: unknown, native: unknown, found: string[]): void {
  if (isContainer(ours) && isContainer(native)) {
    for (const key of new Set([...Object.keys(ours), ...Object.keys(native)])) {
      collect(`${path}.${key}`, ours[key], native[key], found);
    }
  } else if (!Object.is(ours, native)) {
    found.push(`${path || 'value'}: ${show(ours)} ≠ ${show(native)}`);
  }
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 300);
}

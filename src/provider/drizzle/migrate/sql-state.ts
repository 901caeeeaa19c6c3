/** The server's error code, wherever in the chain of causes the driver left it. */
export function sqlStateOf(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

export const INSUFFICIENT_PRIVILEGE = '42501';

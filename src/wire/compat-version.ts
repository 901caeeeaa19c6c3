/** A semantic version without pre-release parts. */
export interface SemVer {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/**
 * The level of native duroxide that our records follow. It stamps every event, pins
 * every execution and bounds our own fetch filter. Never the version of this package:
 * a stamp above native's own makes an instance invisible to native workers for ever
 * (P:T-2). Raise it only together with the behaviour of a newer native.
 */
export const COMPAT_VERSION: SemVer = { major: 0, minor: 1, patch: 30 };

/** {@link COMPAT_VERSION} as it is written into events. */
export const COMPAT_VERSION_TEXT = formatSemVer(COMPAT_VERSION);

export function formatSemVer({ major, minor, patch }: SemVer): string {
  return `${major}.${minor}.${patch}`;
}

/** Reads `major.minor.patch`; a pre-release or build part is ignored. Anything else is `undefined`. */
export function parseSemVer(text: string): SemVer | undefined {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].*)?$/.exec(text);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) };
}

/** Negative, zero or positive, component by component (P:T-29). */
export function compareSemVer(a: SemVer, b: SemVer): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

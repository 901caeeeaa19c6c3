/** What a failure with some SQLSTATE means for the caller (provider.md 3.0). */
export interface SqlStateClass {
  readonly retryable: boolean;
  /** Begins the reason of the error; native's words where native has some. */
  readonly prefix: string;
}

const DATABASE = 'Database error:';

/** In order; the first pattern that fits decides. All else is permanent. */
const CLASSES: readonly (readonly [pattern: RegExp, retryable: boolean, prefix: string])[] = [
  [/^40P01$/, true, 'Deadlock detected:'],
  // Permanent in native; transient by definition, so we try again.
  [/^40001$/, true, 'Serialization failure:'],
  // `cached plan must not change result type`: the names of the statements have changed since.
  [/^0A000$/, true, 'Cached plan invalidated:'],
  // A name was unknown on the server, or taken: names are off by now.
  [/^(26000|42P05)$/, true, DATABASE],
  // Connection failed; shutdown, crash, starting up, dropped; idle too long; a primary became a standby.
  [/^08|^57P0[1-5]$|^25P03$|^25006$/, true, 'Connection lost:'],
  // Lock not available; cancelled, by a statement time-out of ours or the administrator's.
  [/^(55P03|57014)$/, true, DATABASE],
  // Disk full, out of memory, too many connections; system and I/O errors.
  [/^(53|58)/, true, DATABASE],
  // Retryable only where tokens rotate, which is nobody's case here.
  [/^(28000|28P01)$/, false, 'Authentication error:'],
  [/^23505$/, false, 'Duplicate detected:'],
  [/^23503$/, false, 'Foreign key violation:'],
];

export function classifySqlState(sqlState: string): SqlStateClass {
  for (const [pattern, retryable, prefix] of CLASSES) if (pattern.test(sqlState)) return { retryable, prefix };
  return { retryable: false, prefix: DATABASE };
}

/**
 * Whether one element of a batch is to blame: bad data, a violated constraint, a limit.
 * Such a batch is halved until the element stands alone (provider.md 3.4.2).
 */
export function isDataFailure(sqlState: string | undefined): boolean {
  return sqlState !== undefined && /^(22|23|54)/.test(sqlState);
}

/**
 * Whether the server's primary message for this code names only objects and facts.
 * Others quote the value that did not fit (class 22) or are written by functions
 * (P0001): a value is a user's payload, which never enters a message of ours.
 */
export function hasHarmlessMessage(sqlState: string): boolean {
  return /^(08|0A|23|25|26|28|3D|3F|40|42|53|54|55|57|58|XX)/.test(sqlState);
}

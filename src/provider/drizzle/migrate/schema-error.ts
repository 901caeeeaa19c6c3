const BRAND = Symbol.for('duroxide-drizzle.SchemaError');

/**
 * Why a schema cannot be used as it is:
 * - `pending`: migrations are missing and were not asked for, or may not be run;
 * - `older`, `newer`: native's bookkeeping, or ours, is not of this version's level;
 * - `damaged`: bookkeeping and tables contradict each other;
 * - `occupied`: objects of these names belong to somebody else;
 * - `notPermitted`: the role may not read or create what is needed;
 * - `busy`: a hand-over while something is locked.
 */
export type SchemaErrorKind = 'pending' | 'older' | 'newer' | 'damaged' | 'occupied' | 'notPermitted' | 'busy';

/** The schema cannot be used as it is, and nothing was changed. The message says what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';

  constructor(
    readonly kind: SchemaErrorKind,
    readonly schema: string,
    reason: string,
    cause?: unknown,
  ) {
    super(`schema "${schema}": ${reason}`, cause === undefined ? undefined : { cause });
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Whether `error` is a schema error of any copy of this package. */
  static is(error: unknown): error is SchemaError {
    return error instanceof Error && BRAND in error;
  }
}

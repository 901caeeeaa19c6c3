/** Error of the emulated server, in the shape of node-postgres' `DatabaseError`. */
export class PgMemError extends Error {
  override readonly name = 'error';
  readonly severity = 'ERROR';

  constructor(
    /** SQLSTATE. */
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** What pg-mem threw; where it knows no SQLSTATE, the closest one. */
  static from(error: unknown): PgMemError {
    if (error instanceof PgMemError) return error;
    const { code, data, message } = error as { code?: unknown; data?: { error?: unknown }; message?: unknown };
    const text = String(data?.error ?? message ?? error);
    return new PgMemError(typeof code === 'string' && code !== '' ? code : codeOf(text), text, { cause: error });
  }
}

/** pg-mem gives some of its errors no code. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [/null value in column/i, '23502'],
  [/violates? unique|duplicate key/i, '23505'],
  [/relation .* does not exist/i, '42P01'],
  [/column .* does not exist/i, '42703'],
  [/schema not found/i, '3F000'],
  [/function .* does not exist/i, '42883'],
  [/syntax error/i, '42601'],
  [/cannot cast|invalid .* (format|syntax)/i, '22P02'],
];

function codeOf(text: string): string {
  return CODES.find(([pattern]) => pattern.test(text))?.[1] ?? 'XX000';
}

/** What the exit status of the command line says. Documented in docs/cli.md; numbers never change. */
export const ExitCode = {
  ok: 0,
  /** A fault of the program itself. */
  bug: 1,
  /** The command line: unknown commands and options, values that do not fit, a cursor of another query. */
  usage: 2,
  /** An instance, execution or file that does not exist. */
  notFound: 3,
  /** What was asked for is not possible as things are, or was not confirmed. Nothing was changed. */
  refused: 4,
  /** The database cannot be reached, is read-only, or refuses the role. */
  database: 5,
  /** The schema has no tables of duroxide, or they are older, newer or damaged. */
  schema: 6,
  /** The command worked, and what it looked at is not well: a failed instance, a mismatch, a finding of the doctor. */
  negative: 7,
  /** Waited for as long as was asked. */
  timeout: 8,
  /** Interrupted from the keyboard. */
  interrupted: 130,
  /** Whoever read the output has gone, or it cannot be written: a full disk. */
  outputClosed: 141,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** A failure that says what was given and what was expected, with its exit code. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    readonly exitCode: ExitCode,
    message: string,
    /** What to do about it, on a line of its own. */
    readonly advice?: string,
  ) {
    super(message);
  }
}

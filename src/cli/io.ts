import type { Readable, Writable } from 'node:stream';
import { CliError, ExitCode } from './exit-codes.js';

/** What the command line touches of the world; tests hand in their own. */
export interface CliIo {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  readonly stdout: Writable & { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined };
  readonly stderr: Writable & { readonly isTTY?: boolean | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts when the user interrupts, or when the output cannot be written any more. */
  readonly signal: AbortSignal;
}

/** Why {@link CliIo.signal} aborted. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor(readonly by: 'user' | 'closedOutput') {
    super(by === 'user' ? 'interrupted' : 'nobody reads the output any more');
  }
}

/** A full disk, say. */
function unwritable({ code }: NodeJS.ErrnoException): CliError {
  return new CliError(ExitCode.outputClosed, `the output cannot be written (${code ?? 'unknown error'})`);
}

/** The process's own. */
export function processIo(): CliIo {
  const controller = new AbortController();
  const abort = (by: Interrupted['by']) => controller.abort(new Interrupted(by));
  process.once('SIGINT', () => {
    abort('user');
    // Whoever does not want to wait for an orderly end asks twice.
    process.once('SIGINT', () => process.exit(130));
  });
  process.once('SIGTERM', () => abort('user'));
  process.once('SIGHUP', () => abort('user'));
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      const hasGone = error.code === 'EPIPE' || error.code === 'EIO' || stream === process.stderr;
      controller.abort(hasGone ? new Interrupted('closedOutput') : unwritable(error));
    });
  }
  const { stdin, stdout, stderr, env } = process;
  return { stdin, stdout, stderr, env, cwd: process.cwd(), signal: controller.signal };
}

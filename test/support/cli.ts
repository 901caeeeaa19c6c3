import { PassThrough, Readable } from 'node:stream';
import { type CliIo, Interrupted } from '../../src/cli/io.js';
import { main } from '../../src/cli/main.js';
import { databaseUrl } from './database.js';

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** Whether stdout says that it is a terminal. */
  readonly tty?: boolean;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** Called with everything that was written so far, after each write. */
  readonly onOutput?: (stdout: string) => void;
}

/** Runs a command line in this process, on the database of the tests. */
export async function cli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { env = {}, stdin = '', tty = false, cwd = process.cwd(), signal = new AbortController().signal } = options;
  const written = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => {
      written[name] += chunk.toString();
      if (name === 'stdout') options.onOutput?.(written.stdout);
    });
    return Object.assign(stream, { isTTY: tty, columns: 200 });
  };
  const io: CliIo = {
    // Never a terminal: nobody is there to be asked.
    stdin: Readable.from([stdin]),
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    env: { DATABASE_URL: databaseUrl(), ...env },
    cwd,
    signal,
  };
  const code = await main(argv, io);
  // What was written is delivered in a later tick.
  await new Promise((resolve) => setImmediate(resolve));
  return { code, ...written };
}

/** As {@link cli}, for a command that must succeed: its JSON answer. */
export async function cliJson<T = Record<string, unknown>>(argv: readonly string[], options?: CliOptions): Promise<T> {
  const { code, stdout, stderr } = await cli([...argv, '--json'], options);
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** The user's Ctrl-C. */
export function interruption(): { readonly signal: AbortSignal; interrupt(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, interrupt: () => controller.abort(new Interrupted('user')) };
}

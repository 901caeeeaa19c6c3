import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { CliError, ExitCode } from './exit-codes.js';
import type { CliIo } from './io.js';

/** The exports of a module of the user. @throws CliError when there is none, or it cannot be run */
export async function loadModule(file: string, { cwd }: CliIo): Promise<object> {
  const absolute = path.resolve(cwd, file);
  if (!existsSync(absolute)) throw new CliError(ExitCode.notFound, `there is no file ${file}; expected an ES module`);
  try {
    return (await import(pathToFileURL(absolute).href)) as object;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | null | undefined)?.code;
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION' || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
      throw new CliError(
        ExitCode.usage,
        `cannot load ${file}: Node.js ${process.version} does not run it as it is; expected an ES module that this Node.js can run`,
        'run TypeScript with tsx: npx tsx node_modules/duroxide-drizzle/dist/cli.js …',
      );
    }
    const reason = types.isNativeError(error) ? error.message : String(error);
    throw new CliError(
      ExitCode.usage,
      `cannot load ${file}: ${reason}; expected an ES module that this Node.js can run`,
    );
  }
}

import type { CliContext } from '../context.js';
import { shellQuoted } from './text.js';

/**
 * A command to go on with, as a shell takes it: for the same schema, and with what begins
 * with a dash behind `--`. A URL is left out, since it may hold a password.
 */
export function nextCommand({ options }: Pick<CliContext, 'options'>, command: string, ...ids: string[]): string {
  const { schema, pglite, codec, allowNewer } = options;
  return [
    'npx duroxide-drizzle',
    command,
    ...(schema === 'public' ? [] : ['--schema', schema]),
    ...(pglite === undefined ? [] : ['--pglite', shellQuoted(pglite)]),
    ...(codec === undefined ? [] : ['--codec', shellQuoted(codec)]),
    ...(allowNewer ? ['--allow-newer'] : []),
    ...(ids.some((id) => id.startsWith('-')) ? ['--'] : []),
    ...ids.map(shellQuoted),
  ].join(' ');
}

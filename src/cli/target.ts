import { existsSync } from 'node:fs';
import path from 'node:path';
import { POSTGRES_URL, problemOfPostgresUrl } from '../base/connection-url.js';
import type { GlobalOptions } from './context.js';
import { CliError, ExitCode } from './exit-codes.js';
import type { CliIo } from './io.js';

/** The database that a command works on. */
export type Target =
  { readonly kind: 'postgres'; readonly url: string } | { readonly kind: 'pglite'; readonly directory: string };

/** From `--url` or `--pglite`, else `DATABASE_URL`. @throws CliError when none or both are given */
export function targetOf(options: GlobalOptions, { env, cwd }: CliIo): Target {
  if (options.url !== undefined && options.pglite !== undefined) {
    throw new CliError(ExitCode.usage, 'both --url and --pglite were given; expected one of them');
  }
  if (options.pglite !== undefined) return { kind: 'pglite', directory: path.resolve(cwd, options.pglite) };
  const url = options.url ?? env['DATABASE_URL'];
  if (url === undefined || url === '') {
    throw new CliError(
      ExitCode.usage,
      'no database was given; expected DATABASE_URL, --url postgres://… or --pglite DIRECTORY',
    );
  }
  const problem = problemOfPostgresUrl(url);
  if (problem !== undefined) {
    throw new CliError(
      ExitCode.usage,
      `${options.url === undefined ? 'DATABASE_URL' : '--url'} ${problem}; expected ${POSTGRES_URL}`,
    );
  }
  return { kind: 'postgres', url };
}

/** A directory that PGlite made. @throws CliError for anything else: opening it would create a database there */
export function requireDirectory({ directory }: Extract<Target, { kind: 'pglite' }>): void {
  if (existsSync(path.join(directory, 'PG_VERSION'))) return;
  throw new CliError(
    ExitCode.notFound,
    `${directory} is no directory of PGlite; expected one that a worker or \`duroxide-drizzle migrate --pglite\` made`,
  );
}

/** The target for messages: never its password. */
export function targetText(target: Target): string {
  if (target.kind === 'pglite') return target.directory;
  try {
    const url = new URL(target.url);
    const user = url.username === '' ? '' : `${decodeURIComponent(url.username)}@`;
    return `${user}${url.host}${url.pathname}`;
  } catch {
    // A URL that cannot be parsed may have its password anywhere.
    return 'the database of the given URL';
  }
}

/** A text without what looks like credentials of a URL or a connection string. */
export function withoutSecrets(text: string, target?: Target): string {
  let clean = text
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi, '$1:***@')
    .replace(/(password=)[^\s&'"]+/gi, '$1***');
  if (target?.kind === 'postgres') {
    for (const secret of secretsOf(target.url)) clean = clean.replaceAll(secret, '***');
  }
  return clean;
}

function secretsOf(url: string): string[] {
  const raw = /^[a-z]+:\/\/[^:/@]*:([^@]*)@/i.exec(url)?.[1];
  const parameter = /[?&]password=([^&]*)/i.exec(url)?.[1];
  return [raw, parameter]
    .filter((secret) => secret !== undefined)
    .flatMap((secret) => [secret, decoded(secret)])
    .filter((secret) => secret.length >= 3);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray % is part of the password.
    return text;
  }
}

import { typeName } from './type-name.js';

/** What a URL of a PostgreSQL database looks like, for messages. */
export const POSTGRES_URL = 'postgres://user@host:port/database';

/**
 * Why this is no URL of a PostgreSQL database; `undefined` when it is one. Says nothing of
 * its text beside the scheme: a password may be anywhere in it.
 */
export function problemOfPostgresUrl(url: unknown): string | undefined {
  if (typeof url !== 'string') return `is ${typeName(url)}`;
  if (url === '') return 'is empty';
  if (/^postgres(ql)?:\/\//.test(url)) return undefined;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1];
  return scheme ? `is a ${scheme}: URL` : 'is no URL';
}

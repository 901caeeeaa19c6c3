import { PgMemError } from './pg-mem-error.js';

/** What a caller may hand to a query; drivers take more, and so do we: see {@link literal}. */
export type Parameter = unknown;

/**
 * A parameter as SQL text, because pg-mem infers poor types for real parameters.
 * Values are taken as node-postgres takes them: a `Date` is a moment, an object JSON.
 * @throws PgMemError 22021 for U+0000, which PostgreSQL cannot store and pg-mem would.
 */
export function literal(value: Parameter): string {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) return arrayLiteral(value);
  switch (typeof value) {
    case 'string':
      return textLiteral(value);
    case 'number':
      return Number.isFinite(value) ? numberLiteral(String(value)) : textLiteral(String(value));
    case 'bigint':
      return numberLiteral(String(value));
    case 'boolean':
      return String(value);
    default:
  }
  if (value instanceof Date) return textLiteral(value.toISOString());
  if (value instanceof Uint8Array) return textLiteral(`\\x${Buffer.from(value).toString('hex')}`);
  return textLiteral(JSON.stringify(value));
}

/** Elements of an array of one dimension, each as SQL text. */
export function elements(value: Parameter): string[] {
  if (!Array.isArray(value)) throw new PgMemError('22P02', 'an array is expected for this parameter');
  return value.map(literal);
}

function arrayLiteral(value: readonly unknown[]): string {
  return value.length === 0 ? `'{}'` : `ARRAY[${value.map(literal).join(', ')}]`;
}

function numberLiteral(text: string): string {
  return text.startsWith('-') ? `(${text})` : text;
}

function textLiteral(text: string): string {
  if (text.includes('\u0000')) throw new PgMemError('22021', 'invalid byte sequence for encoding "UTF8": 0x00');
  // As any driver does when it encodes: an unpaired surrogate becomes U+FFFD.
  return `'${text.toWellFormed().replaceAll("'", "''")}'`;
}

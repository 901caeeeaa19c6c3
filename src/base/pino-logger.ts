import type { LogFields, Logger } from './logger.js';

/** The part of pino's logger that is used. */
export interface PinoLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(bindings: Record<string, unknown>): PinoLike;
}

/**
 * Logs through pino, as a child with `component: 'duroxide-drizzle'`. Errors stand under
 * `err`, where pino's serializer finds them.
 */
export function pinoLogger(pino: PinoLike): Logger {
  const child = pino.child({ component: 'duroxide-drizzle' });
  const line = (level: keyof Logger) => (fields: LogFields, message: string) => child[level](renamed(fields), message);
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

function renamed(fields: LogFields): LogFields {
  if (!('error' in fields)) return fields;
  const { error, ...rest } = fields;
  return { ...rest, err: error };
}

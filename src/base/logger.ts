/** Fields that travel with a log line. Never put payloads of users into them. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where the library reports what it cannot return: one method per level, message
 * last-but-one as in pino, so that `pino()` fits as it is.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** Says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Warnings and errors on stderr, nothing below: the default of a library. */
export const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(`duroxide-drizzle: ${message}`, ...someFields(fields)),
  error: (fields, message) => console.error(`duroxide-drizzle: ${message}`, ...someFields(fields)),
};

function someFields(fields: LogFields): LogFields[] {
  return Object.keys(fields).length > 0 ? [fields] : [];
}

/** A logger that throws must never stop a dispatcher (C-33): its failures end here. */
export function guardedLogger(logger: Logger): Logger {
  const guard = (level: keyof Logger) => (fields: LogFields, message: string) => {
    try {
      logger[level](fields, message);
    } catch {
      // The one place that could report it is the one that failed.
    }
  };
  return { debug: guard('debug'), info: guard('info'), warn: guard('warn'), error: guard('error') };
}

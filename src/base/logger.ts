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

/**
 * What the library logs through. A logger that throws must never stop a dispatcher
 * (C-33): its failures end here. And errors lose their causes on the way: a driver's
 * error may quote the values it was given, which are payloads.
 */
export function guardedLogger(logger: Logger): Logger {
  const guard = (level: keyof Logger) => (fields: LogFields, message: string) => {
    try {
      logger[level](withoutCauses(fields), message);
    } catch {
      // The one place that could report it is the one that failed.
    }
  };
  return { debug: guard('debug'), info: guard('info'), warn: guard('warn'), error: guard('error') };
}

function withoutCauses(fields: LogFields): LogFields {
  const entries = Object.entries(fields);
  if (!entries.some(([, value]) => value instanceof Error)) return fields;
  return Object.fromEntries(entries.map(([key, value]) => [key, value instanceof Error ? described(value) : value]));
}

function described({ name, message, stack }: Error): LogFields {
  return { name, message, stack };
}

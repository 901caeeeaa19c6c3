import type { LogFields, Logger } from '../base/logger.js';
import type { AsyncPort } from '../runtime/async/async-driver.js';

/** Logs once per line and instance: silent while the code goes again through what it did before. */
export type ReplaySafeLog = Readonly<Record<keyof Logger, (message: string, fields?: LogFields) => void>>;

/** The log of one execution; every line names it. */
export function replaySafeLog(port: AsyncPort, logger: Logger): ReplaySafeLog {
  const { instance, executionId, name, version } = port.info;
  const about = { instanceId: instance, executionId, orchestrationName: name, orchestrationVersion: version };
  const line =
    (level: keyof Logger) =>
    (message: string, fields: LogFields = {}) => {
      if (!port.replaying) port.outside(() => logger[level]({ ...fields, ...about }, message));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

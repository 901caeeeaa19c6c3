import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { FakeClock } from '../../../base/clock.js';
import type { LockThread, LockThreadOptions } from '../../lock-thread.js';
import { UnsupportedError } from '../../provider-error.js';
import type { ProviderContext } from '../context.js';
import { MeasuredClock } from '../measured-clock.js';
import type { ConnectionSettings, Driver } from '../executor.js';
import type { LockThreadData } from './messages.js';
import { WorkerLockThread } from './worker-lock-thread.js';
import { workerFile } from './worker-file.js';

/**
 * Starts the thread, and resolves when it is connected.
 * @throws UnsupportedError where the connection, or the clock, cannot be had in another thread
 */
export async function startLockThread(ctx: ProviderContext, options: LockThreadOptions): Promise<LockThread> {
  const { driver, clock, schema } = ctx;
  const connection = connectionOf(driver);
  if (!(clock instanceof MeasuredClock)) {
    const what = clock instanceof FakeClock ? 'a FakeClock' : "a clock of the application's";
    throw new UnsupportedError(
      `locks cannot be renewed from a thread with ${what}: the thread would measure another time; use lockRenewal: 'event-loop'`,
    );
  }
  const thread = new WorkerLockThread(newWorker(connection, schema, options), connection, options);
  await thread.ready;
  return thread;
}

function connectionOf(driver: Driver): ConnectionSettings {
  let settings: ConnectionSettings | undefined;
  try {
    settings = driver.connectionSettings?.();
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    throw new UnsupportedError(`locks cannot be renewed from a thread: ${error.message}, or use lockRenewal: 'event-loop'`);
  }
  if (settings) return settings;
  throw new UnsupportedError(
    `locks cannot be renewed from a thread on this database (${driver.kind}): a second connection to a PostgreSQL ` +
      "server is needed, as a URL, a pg.Pool or a postgres-js client has one; use lockRenewal: 'event-loop'",
  );
}

function newWorker(connection: ConnectionSettings, schema: string, options: LockThreadOptions): Worker {
  const file = workerFile();
  if (!existsSync(file)) {
    throw new UnsupportedError(
      `the file of the thread that renews locks is not beside the package's code (${file}): ` +
        'a bundler has to leave duroxide-drizzle outside of the bundle',
    );
  }
  const workerData: LockThreadData = {
    driver: connection.driver,
    options: connection.options,
    asksForPassword: connection.password !== undefined,
    namedStatements: connection.namedStatements,
    schema,
    timings: options.timings,
    sessions: options.sessions,
    maxSilenceMs: options.maxSilenceMs,
  };
  // Without the options of the process: some of them, such as `--input-type`, are refused with a file.
  return new Worker(file, { workerData, name: 'duroxide-drizzle locks', execArgv: [] });
}

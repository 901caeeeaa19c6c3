/**
 * A worker of the load, in a process of its own that will be killed. Takes its settings
 * from the environment, commands by IPC, and says `ready` when its loops run.
 */
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { DrizzleProvider, type HostClock, type Logger, ProviderError, Runtime } from '../../../src/index.js';
import { effectsFile, registerWorkload } from './workload.js';

/** What the parent may ask for. */
export type WorkerCommand =
  | { readonly kind: 'jump'; readonly byMs: number }
  | { readonly kind: 'block'; readonly forMs: number }
  | { readonly kind: 'stop' };

export type WorkerMessage = { readonly kind: 'ready' } | { readonly kind: 'fault'; readonly message: string };

export interface WorkerSettings {
  readonly url: string;
  readonly schema: string;
  readonly ledgerTable: string;
  readonly effects: string;
  readonly repairs: string;
  readonly pipeline: boolean;
  readonly verifyWarm: boolean;
  readonly connections: number;
}

const settings = JSON.parse(process.env['DDZ_FAULT_WORKER'] ?? '{}') as WorkerSettings;
const tell = (message: WorkerMessage) => process.send?.(message);

let jumpedMs = 0;
const hostClock: HostClock = { nowMs: () => Date.now() + jumpedMs, monotonicMs: () => performance.now() };

/** Lines that must never be written, whatever is broken around us. */
const NEVER = /a warm turn differs|cannot be read|is given up/;
const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => note('warn', message, fields),
  error: (fields, message) => note('error', message, fields),
};
function note(level: string, message: string, fields: unknown): void {
  if (NEVER.test(message)) tell({ kind: 'fault', message: `${message} ${JSON.stringify(fields)}` });
  if (process.env['DDZ_FAULT_LOG']) console.error(level, message, JSON.stringify(fields));
}

process.on('message', (command: WorkerCommand) => {
  if (command.kind === 'jump') jumpedMs += command.byMs;
  if (command.kind === 'block') {
    const untilMs = performance.now() + command.forMs;
    while (performance.now() < untilMs);
  }
  if (command.kind === 'stop') {
    void running.runtime
      ?.shutdown(5_000)
      .then(() => running.provider?.close())
      .then(() => process.exit(0));
  }
});
// Without a parent there is nobody to work for.
process.on('disconnect', () => process.exit(0));

const running: { runtime?: Runtime; provider?: DrizzleProvider } = {};

async function untilItWorks<T>(use: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await use();
    } catch (error) {
      if (!ProviderError.is(error) || !error.retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A new pool for each attempt: one that failed closes what it owns. */
const openPool = () =>
  new pg.Pool({
    connectionString: settings.url,
    max: settings.connections,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    ...(settings.pipeline ? { pipeline: true } : {}),
  });
const provider = await untilItWorks(() =>
  DrizzleProvider.fromDrizzle(drizzle(openPool()), {
    schema: settings.schema,
    hostClock,
    logger,
    ownsClient: true,
    acquireTimeoutMs: 5_000,
    answerTimeoutMs: 3_000,
  }),
);
running.provider = provider;
const runtime = new Runtime(provider, {
  logger,
  logLevel: 'off',
  dispatcherPollIntervalMs: 20,
  maxPollIntervalMs: 200,
  orchestratorLockTimeoutMs: 1_000,
  workerLockTimeoutMs: 1_500,
  sessionLockTimeoutMs: 1_500,
  sessionIdleTimeoutMs: 10_000,
  // Whoever is killed hundreds of times must not take healthy instances for poison.
  maxAttempts: 100_000,
  verifyWarm: settings.verifyWarm,
});
running.runtime = runtime;
registerWorkload(runtime, { ...settings, note: effectsFile(settings.effects) });
await untilItWorks(() => runtime.start());
tell({ kind: 'ready' });

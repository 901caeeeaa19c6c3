import { type Clock, SystemClock } from '../../base/clock.js';
import { consoleLogger, guardedLogger, type Logger } from '../../base/logger.js';
import { assertSchemaName } from '../../schema/schema-name.js';
import { UnsupportedError } from '../provider-error.js';
import { sql } from 'drizzle-orm';
import type { ProviderContext } from './context.js';
import { createContext } from './create-context.js';
import { type DrizzleDatabase, driverFor } from './drivers/index.js';
import type { Driver } from './executor.js';
import { MeasuredClock } from './measured-clock.js';
import { migrateSchema, requireMigratedSchema, SchemaError, type SchemaStatus } from './migrate/index.js';
import { Notifications } from './notifications.js';
import type { DrizzleProviderOptions } from './options.js';
import { requireSafeSearchPath } from './search-path.js';
import { compile, textCell } from './statement.js';
import { toProviderError } from './to-provider-error.js';

/** What made the tables of start queues; a schema that native made has them on request only. */
const START_QUEUES_MIGRATION = '0003_start_queues';

/** What a provider consists of. */
export interface ProviderParts {
  readonly ctx: ProviderContext;
  /** What it was opened on. */
  readonly db: DrizzleDatabase;
  readonly notifications: Notifications;
  readonly status: SchemaStatus;
  close(): Promise<void>;
}

/**
 * Connects: looks at the schema or migrates it, and measures the clock. Nothing stays
 * open when it fails.
 * @throws RangeError, UnsupportedError, SchemaError, ProviderError
 */
export async function openProvider(db: DrizzleDatabase, options: DrizzleProviderOptions = {}): Promise<ProviderParts> {
  const { schema = 'public', notifications: enabled = true } = options;
  assertSchemaName(schema);
  const logger = guardedLogger(options.logger ?? consoleLogger);
  const driver = driverFor(db, { ...options, logger });
  const notifications = new Notifications({ schema, driver, logger, enabled });
  const clock = options.clock ?? ownClock(driver, logger, options);
  const wake: ProviderContext['wake'] = (about) =>
    about === 'startQueues' ? notifications.changed(about) : notifications.wake(about);
  const notice = () => notifications.notice('orchestrator');
  const ctx = createContext(driver, { ...options, schema, clock, logger, wake, notice });
  const close = async () => {
    if (clock instanceof MeasuredClock) clock.close();
    await notifications.close();
    await ctx.beside.close();
    await driver.close();
  };
  try {
    await requireSafeSearchPath(driver);
    const status = await readySchema(driver, schema, options);
    reportMissing(status, logger);
    ctx.startQueues.present = driver.kind !== 'pg-mem' && !status.missingTables.includes(START_QUEUES_MIGRATION);
    ctx.identity.trust(db);
    await ctx.identity.learn();
    if (clock instanceof MeasuredClock) await clock.start();
    return { ctx, db, notifications, status, close };
  } catch (error) {
    await close();
    throw isSpeaking(error) ? error : toProviderError('connect', error);
  }
}

/** The database's time in Unix ms, with a fraction. */
const askTime = compile(sql`select (extract(epoch from clock_timestamp()) * 1000)::text`, ([ms]) => Number(textCell(ms)));

/** A database inside this process has this process's time. */
function ownClock(driver: Driver, logger: Logger, { hostClock }: DrizzleProviderOptions): Clock {
  if (driver.kind === 'pglite' || driver.kind === 'pg-mem') return new SystemClock(hostClock);
  const measure = async () => {
    const [ms] = await driver.withConnection((executor) => executor.run(askTime));
    if (ms === undefined) throw new Error('the database told no time');
    return ms;
  };
  return new MeasuredClock({ measure, logger, host: hostClock });
}

async function readySchema(driver: Driver, schema: string, options: DrizzleProviderOptions): Promise<SchemaStatus> {
  const { migrate = true, allowNewer } = options;
  if (!migrate) return requireMigratedSchema(driver, { schema, allowNewer });
  const { status } = await migrateSchema(driver, { schema, allowNewer });
  return status;
}

/** Additions to a native schema are made on request only (provider.md 1.5). */
function reportMissing({ schema, missingIndexes }: SchemaStatus, logger: Logger): void {
  if (missingIndexes.length === 0) return;
  logger.info(
    { schema, missingIndexes },
    'indexes of ours are missing, fetches are slower without them; migrate(db, { schema, adoptIndexes: true }) makes them',
  );
}

/** Errors that say what to do, and nothing of a payload. */
function isSpeaking(error: unknown): boolean {
  return error instanceof SchemaError || error instanceof RangeError || error instanceof UnsupportedError;
}

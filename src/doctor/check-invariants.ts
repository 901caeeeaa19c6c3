import { type Clock, SystemClock } from '../base/clock.js';
import { silentLogger, type Logger } from '../base/logger.js';
import { createContext } from '../provider/drizzle/create-context.js';
import { type DrizzleDatabase, driverFor } from '../provider/drizzle/drivers/index.js';
import { checkInstances } from './check-instances.js';
import { checkRows } from './check-rows.js';
import { Findings } from './findings.js';
import type { CheckScope } from './page.js';
import { whileReplaying } from '../runtime/registered-orchestrations.js';
import type { Runtime } from '../runtime/runtime.js';
import { checkReplays } from './replay-histories.js';
import type { CheckedCounts, InvariantReport } from './report.js';

/** Longer than any lock that is meant to end by itself, in ms. */
const DEFAULT_LONGEST_LOCK_MS = 24 * 60 * 60 * 1000;
const DEFAULT_MAX_VIOLATIONS = 1_000;

export interface InvariantOptions {
  /** @defaultValue `public` */
  readonly schema?: string | undefined;
  /**
   * A runtime with the orchestrations of the application, started or not: their histories are
   * replayed and must lead to the recorded decisions. Nothing is written and no activity
   * runs. Absent: histories are checked, not replayed.
   */
  readonly orchestrations?: Runtime | undefined;
  /** A lock that ends later than this after now will not end, in ms. @defaultValue a day */
  readonly longestLockMs?: number | undefined;
  /** How many violations are listed; more are counted. @defaultValue `1_000` */
  readonly maxViolations?: number | undefined;
  /** Ends the check after the current page. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each page, with how much was looked at so far. */
  readonly onProgress?: ((checked: CheckedCounts) => void) | undefined;
  /** A single `pg.Client` is given that nobody else uses. @defaultValue `false` */
  readonly exclusive?: boolean | undefined;
  /** Prepare statements by name; `false` behind a pooler that does not keep them. @defaultValue `true` */
  readonly namedStatements?: boolean | undefined;
  readonly logger?: Logger | undefined;
  /** What locks are compared with. @defaultValue the host's time */
  readonly clock?: Clock | undefined;
}

/**
 * Checks that a schema of duroxide, made by this package or by native, holds what it
 * promises: nothing is lost, doubled or stuck. Changes nothing and may run beside workers:
 * it reads page by page, each page in a snapshot of its own. It reads every table from its
 * beginning to its end, which takes a while on a large store; memory stays bounded.
 *
 * The database stays open.
 * @param db a Drizzle database over a PostgreSQL server or PGlite
 * @throws ProviderError when the database fails, RangeError for an invalid option, the reason of `signal`
 */
export async function checkInvariants(db: DrizzleDatabase, options: InvariantOptions = {}): Promise<InvariantReport> {
  const { schema = 'public', exclusive, namedStatements, logger = silentLogger, clock = new SystemClock() } = options;
  const longestLockMs = positive('longestLockMs', options.longestLockMs ?? DEFAULT_LONGEST_LOCK_MS);
  const maxViolations = positive('maxViolations', options.maxViolations ?? DEFAULT_MAX_VIOLATIONS);
  const driver = driverFor(db, { exclusive, namedStatements, logger });
  try {
    const ctx = createContext(driver, { schema, clock, logger });
    const { signal, onProgress } = options;
    const onPage = (total: Findings) => onProgress?.(total.counted);
    const scope: CheckScope = { ctx, longestLockMs, maxViolations, signal, onPage };
    const findings = new Findings(maxViolations);
    await checkInstances(scope, findings);
    await checkRows(scope, findings);
    const { orchestrations } = options;
    if (orchestrations) await whileReplaying(orchestrations, () => checkReplays(scope, orchestrations, findings));
    return findings.toReport(schema);
  } finally {
    await driver.close();
  }
}

function positive(option: string, value: number): number {
  if (Number.isFinite(value) && value > 0) return value;
  throw new RangeError(`${option} must be a number above 0, got ${String(value)}`);
}

import type { Clock } from '../../../src/base/clock.js';
import { FakeClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/logger.js';
import type { OptionalHelper, ProviderUnderTest } from '../../../src/conformance/index.js';
import type { Provider } from '../../../src/provider/provider.js';
import { emptyTables } from '../storage-helpers.js';

/** Runs SQL against the tables of the schema under test. */
export type RunSql = (text: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

/** A provider on a database, opened once for a test file and emptied between its tests. */
export interface Backend {
  readonly open: () => Promise<ProviderUnderTest>;
  readonly close: () => Promise<void>;
}

/** What all providers under test are opened with. */
export interface UnderTestOptions {
  readonly clock: Clock;
  readonly logger: typeof silentLogger;
}

export interface BackendParts extends Partial<Pick<ProviderUnderTest, OptionalHelper>> {
  readonly provider: Provider;
  readonly clock: FakeClock;
  readonly answersTails: boolean;
  readonly sql: RunSql;
  /** Ends what one test opened. */
  readonly afterEach?: (() => Promise<void>) | undefined;
  readonly close: () => Promise<void>;
}

/** The parts of a backend put together: one schema, emptied before each test. */
export function backendOf({ afterEach, close, provider, ...parts }: BackendParts): Backend {
  const { sql } = parts;
  return {
    async open() {
      await sql(emptyTables);
      return {
        ...parts,
        provider,
        async corruptHistory(instance) {
          await sql(`update history set event_data = '{"garbage": true}' where instance_id = $1`, [instance]);
        },
        async highestAttemptCount(instance) {
          const [row] = await sql(
            'select max(attempt_count) as highest from orchestrator_queue where instance_id = $1',
            [instance],
          );
          return Number(row?.['highest'] ?? 0);
        },
        cleanup: async () => afterEach?.(),
      };
    },
    async close() {
      await afterEach?.();
      await provider.close();
      await close();
    },
  };
}

export function underTest(): { clock: FakeClock; options: UnderTestOptions } {
  const clock = new FakeClock();
  // Checks of unreadable text would fill the output with what they expect.
  return { clock, options: { clock, logger: silentLogger } };
}

/** How often each migration is recorded. */
export async function recordedMigrations(sql: RunSql, table: string): Promise<Map<string, number>> {
  const rows = await sql(`select name, count(*) as times from ${table} group by name`);
  return new Map(rows.map((row) => [String(row['name']), Number(row['times'])]));
}

/** A backend that is opened by the first test that needs it. */
export function lazily(make: () => Promise<Backend>): Backend {
  let backend: Promise<Backend> | undefined;
  return {
    open: async () => (await (backend ??= make())).open(),
    close: async () => (await backend)?.close(),
  };
}

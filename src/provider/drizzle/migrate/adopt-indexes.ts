import { quoteSchemaName } from '../../../schema/schema-name.js';
import { serverErrorOf } from '../drivers/connection-errors.js';
import type { Driver } from '../executor.js';
import { createIndexConcurrently, dropIndexConcurrently } from './additions.js';
import { ownIndexes } from './expected-objects.js';
import { type InspectOptions, inspect } from './schema-status.js';
import { SchemaError } from './schema-error.js';


/** Another process may build the same indexes; of the builders of one index, one succeeds. */
const MAX_ROUNDS_WITHOUT_PROGRESS = 20;

/**
 * What two builders of one index do to each other: a deadlock (40P01), a lock time-out
 * (55P03), a name that was free a moment ago (42P07, 23505) or is gone meanwhile (42704).
 */
const LOST_TO_ANOTHER_BUILDER: ReadonlySet<string> = new Set(['40P01', '55P03', '42P07', '23505', '42704']);

/** Builders of two indexes of one table may also meet in the table's row of the catalogue, which has no code of its own. */
function isLostToAnotherBuilder(error: unknown): boolean {
  const { code = '', message = '' } = serverErrorOf(error) ?? {};
  return LOST_TO_ANOTHER_BUILDER.has(code) || (code === 'XX000' && message.includes('tuple concurrently updated'));
}

/** The statements that {@link buildMissingIndexes} would run for `names`. */
export function indexStatements(schema: string, names: readonly string[]): string[] {
  return ownIndexes
    .filter(({ name }) => names.includes(name))
    .flatMap((index) => [dropIndexConcurrently(schema, index.name), createIndexConcurrently(schema, index)]);
}

/**
 * Builds what is missing of our indexes and rebuilds what an interrupted build left
 * invalid, without locking writers out. Safe when several processes do it at once.
 * @returns the names of the indexes that this call built
 */
export async function buildMissingIndexes(driver: Driver, options: InspectOptions): Promise<string[]> {
  const built: string[] = [];
  let leastMissing = Infinity;
  for (let rounds = 0; rounds < MAX_ROUNDS_WITHOUT_PROGRESS; rounds++) {
    try {
      const missing = await missingWhenNobodyBuilds(driver, options);
      const [name] = missing;
      if (name === undefined) return built;
      if (missing.length < leastMissing) rounds = 0;
      leastMissing = Math.min(leastMissing, missing.length);
      // Each alone: several commands in one message are one transaction, which CONCURRENTLY refuses.
      for (const statement of indexStatements(options.schema, [name])) {
        await driver.withConnection((executor) => executor.script(statement));
      }
      built.push(name);
    } catch (error) {
      if (!isLostToAnotherBuilder(error)) throw error;
    }
  }
  throw new SchemaError('busy', options.schema, 'its indexes are being built by somebody else; try again later');
}

/**
 * The missing indexes, of which the first is not being built. One under construction looks
 * like one whose construction failed. Its builder holds this table lock to the end, so
 * whoever gets the lock sees how it ended. One table at a time, or two of us could wait for
 * each other.
 */
async function missingWhenNobodyBuilds(driver: Driver, options: InspectOptions): Promise<string[]> {
  for (;;) {
    const [candidate] = await driver.withTransaction(async (tx) => (await inspect(tx, options)).status.missingIndexes);
    const index = ownIndexes.find(({ name }) => name === candidate);
    if (!index) return [];
    const missing = await driver.withTransaction(async (tx) => {
      await tx.script(`lock table ${quoteSchemaName(options.schema)}."${index.table}" in share update exclusive mode`);
      return (await inspect(tx, options)).status.missingIndexes;
    });
    const others = missing.filter((name) => name !== index.name);
    if (others.length < missing.length) return [index.name, ...others];
    // Somebody built it while this waited. So goes on at most once for each index.
  }
}

import { quoteSchemaName } from '../../../schema/schema-name.js';
import { serverErrorOf } from '../drivers/connection-errors.js';
import type { Driver } from '../executor.js';
import { createIndexConcurrently, dropIndexConcurrently } from './additions.js';
import { ownIndexes } from './expected-objects.js';
import { type InspectOptions, inspect } from './schema-status.js';
import { SchemaError } from './schema-error.js';


/** Another process may build the same indexes; each round ends with at least one of them done. */
const MAX_ROUNDS = 20;

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
  for (let round = 0; round < MAX_ROUNDS; round++) {
    try {
      const missing = await missingWhenNobodyBuilds(driver, options);
      if (missing === undefined) return built;
      // Each alone: several commands in one message are one transaction, which CONCURRENTLY refuses.
      for (const statement of indexStatements(options.schema, [missing])) {
        await driver.withConnection((executor) => executor.script(statement));
      }
      built.push(missing);
    } catch (error) {
      if (!isLostToAnotherBuilder(error)) throw error;
    }
  }
  throw new SchemaError('busy', options.schema, 'its indexes are being built by somebody else; try again later');
}

/**
 * A missing index, if any. One under construction looks like one whose construction
 * failed. Its builder holds this table lock to the end, so whoever gets the lock sees
 * how it ended. One table at a time, or two of us could wait for each other.
 */
async function missingWhenNobodyBuilds(driver: Driver, options: InspectOptions): Promise<string | undefined> {
  return driver.withTransaction(async (tx) => {
    const [candidate] = (await inspect(tx, options)).status.missingIndexes;
    const index = ownIndexes.find(({ name }) => name === candidate);
    if (!index) return undefined;
    await tx.script(`lock table ${quoteSchemaName(options.schema)}."${index.table}" in share update exclusive mode`);
    const { missingIndexes } = (await inspect(tx, options)).status;
    return missingIndexes.includes(index.name) ? index.name : missingIndexes[0];
  });
}

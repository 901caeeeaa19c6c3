import { quoteSchemaName } from '../../../schema/schema-name.js';
import { serverErrorOf } from '../drivers/connection-errors.js';
import type { Driver } from '../executor.js';
import { createIndexConcurrently, dropIndexConcurrently } from './additions.js';
import { type ExpectedIndex, ownIndexes, uselessIndexName } from './expected-objects.js';
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

/** What amounts to the same as {@link buildMissingIndexes}, for people who run it themselves. */
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
      const { status, uselessIndexes } = await driver.withTransaction((tx) => inspect(tx, options));
      const missing = status.missingIndexes;
      const index = ownIndexes.find(({ name }) => name === missing[0]);
      if (index === undefined) {
        // Set aside by a process that ended, or by a round of ours that lost to another builder.
        for (const name of uselessIndexes) await drop(driver, options, name);
        return built;
      }
      if (missing.length < leastMissing) rounds = 0;
      leastMissing = Math.min(leastMissing, missing.length);
      if (await build(driver, options, index)) built.push(index.name);
    } catch (error) {
      if (!isLostToAnotherBuilder(error)) throw error;
    }
  }
  throw new SchemaError('busy', options.schema, 'its indexes are being built by somebody else; try again later');
}

/** @returns whether there was something to do: somebody else may have built it while this waited */
async function build(driver: Driver, options: InspectOptions, index: ExpectedIndex): Promise<boolean> {
  const useless = uselessIndexName(index.name);
  // What a process left that ended in the middle would stand in the way of the new name.
  await drop(driver, options, useless);
  if (!(await setUselessAside(driver, options, index))) return false;
  await drop(driver, options, useless);
  await runAlone(driver, createIndexConcurrently(options.schema, index));
  return true;
}

function drop(driver: Driver, { schema }: InspectOptions, name: string): Promise<void> {
  return runAlone(driver, dropIndexConcurrently(schema, name));
}

/** Each alone: several commands in one message are one transaction, which CONCURRENTLY refuses. */
function runAlone(driver: Driver, statement: string): Promise<void> {
  return driver.withConnection((executor) => executor.script(statement));
}

/**
 * Renames what stands under the name of an index and is of no use. An index under
 * construction looks like one whose construction failed, but its builder holds this table
 * lock to the end: whoever gets the lock sees how it ended. Renamed, and not dropped by its
 * name after the lock, because by then another process may have built the right one.
 * @returns whether the index is missing
 */
async function setUselessAside(driver: Driver, options: InspectOptions, { name, table }: ExpectedIndex): Promise<boolean> {
  const schema = quoteSchemaName(options.schema);
  return driver.withTransaction(async (tx) => {
    await tx.script(`lock table ${schema}."${table}" in share update exclusive mode`);
    const { missingIndexes } = (await inspect(tx, options)).status;
    if (!missingIndexes.includes(name)) return false;
    await tx.script(`alter index if exists ${schema}."${name}" rename to "${uselessIndexName(name)}"`);
    return true;
  });
}

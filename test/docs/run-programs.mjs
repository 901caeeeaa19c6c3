/**
 * Runs programs one after the other, each with databases of its own, and keeps apart what they print:
 *
 *     node run-programs.mjs <outcomes.json> <program…>
 */
import { writeFileSync } from 'node:fs';
import { format } from 'node:util';
import { pathToFileURL } from 'node:url';
import { PGlite } from '@electric-sql/pglite';

const [outcomesFile, ...programs] = process.argv.slice(2);

// Most of the time that an empty database takes is the making of a cluster: it is made once, and copied.
const create = PGlite.create.bind(PGlite);
let emptyCluster;
PGlite.create = async (...args) => {
  if (args[0] !== undefined) return create(...args);
  emptyCluster ??= makeCluster();
  return create({ loadDataDir: await emptyCluster });
};

async function makeCluster() {
  const first = await create();
  try {
    return await first.dumpDataDir('none');
  } finally {
    await first.close();
  }
}

const outcomes = {};
for (const program of programs) {
  const printed = [];
  console.log = (...values) => printed.push(format(...values));
  try {
    await import(pathToFileURL(program).href);
    outcomes[program] = { printed };
  } catch (error) {
    outcomes[program] = { printed, error: String(error?.stack ?? error) };
  }
}
writeFileSync(outcomesFile, JSON.stringify(outcomes));
process.exit(0);

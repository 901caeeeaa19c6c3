/**
 * Runs programs one after the other, each with databases of its own, and keeps apart what they print:
 *
 *     node run-programs.mjs <outcomes.json> <program…>
 */
import { writeFileSync } from 'node:fs';
import { format } from 'node:util';
import { pathToFileURL } from 'node:url';
import '../support/pglite/preload.mjs';
import { PGlite } from '@electric-sql/pglite';

const [outcomesFile, ...programs] = process.argv.slice(2);

// Most of the time that a program takes is the start of PGlite: one that a program closed is emptied for the next.
const create = PGlite.create.bind(PGlite);
const closed = [];
PGlite.create = async (...args) => {
  if (args[0] !== undefined) return create(...args);
  const used = closed.pop();
  if (used) return emptied(used);
  const database = await create();
  database.close = async () => void closed.push(database);
  return database;
};

async function emptied(database) {
  const { rows } = await database.query(
    "select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'",
  );
  await database.exec(rows.map(({ nspname }) => `drop schema "${nspname}" cascade`).join(';'));
  await database.exec('create schema public');
  await database.exec('discard all');
  return database;
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

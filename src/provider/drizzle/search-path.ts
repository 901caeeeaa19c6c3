import { sql } from 'drizzle-orm';
import type { Driver } from './executor.js';
import { compile, textCell } from './statement.js';
import { UnsupportedError } from '../provider-error.js';

// No operator in it, and the one function with its schema: nothing that a path could redirect.
const askPath = compile(sql`select pg_catalog.current_setting('search_path')`, ([path]) => textCell(path));

/**
 * Refuses connections on which operators and functions of somebody else's come before those
 * of PostgreSQL. Our statements name every table with its schema, but `=` and `now()` are
 * found by the path; unless it says otherwise, `pg_catalog` is looked at first.
 * @throws UnsupportedError naming the path
 */
export async function requireSafeSearchPath(driver: Driver): Promise<void> {
  // An emulation without a catalogue to be redirected from.
  if (driver.kind === 'pg-mem') return;
  const [path = ''] = await driver.withConnection((executor) => executor.run(askPath));
  if (!isHostilePath(path)) return;
  throw new UnsupportedError(
    `the search_path of this connection (${path}) puts other schemas before pg_catalog, so that their operators and ` +
      'functions would take the place of those of PostgreSQL: put pg_catalog first, or leave it out, which means the same',
  );
}

/** Whether the path names `pg_catalog`, and something else before it. */
export function isHostilePath(path: string): boolean {
  const names = [...path.matchAll(/"((?:[^"]|"")*)"|([^\s,"]+)/g)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain ?? '').toLowerCase() : quoted.replaceAll('""', '"'),
  );
  return names.indexOf('pg_catalog') > 0;
}

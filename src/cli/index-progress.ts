import { sql } from 'drizzle-orm';
import { sleepReal } from '../base/clock.js';
import type { Executor } from '../provider/drizzle/executor.js';
import { compile, integerCell, textCell } from '../provider/drizzle/statement.js';
import { type OpenDatabase, openDatabase } from './store.js';
import type { Target } from './target.js';

const LOOKS_EVERY_MS = 1_000;

/** An index that is being built in this database. */
export interface IndexBuild {
  /** Its table; the index itself may not be visible yet. */
  readonly table: string;
  /** As PostgreSQL words it, e.g. `building index: scanning table`. */
  readonly phase: string;
  readonly done: number;
  /** 0 where the phase has nothing to count. */
  readonly total: number;
}

/** What is being built of a schema, by whomever. PostgreSQL counts the blocks of a scan, else tuples, else lockers. */
export function askIndexBuilds(executor: Executor, schema: string): Promise<readonly IndexBuild[]> {
  return executor.run(
    compile(
      sql`select c.relname, p.phase,
          case when blocks_total > 0 then blocks_done when tuples_total > 0 then tuples_done else lockers_done end,
          case when blocks_total > 0 then blocks_total when tuples_total > 0 then tuples_total else lockers_total end
        from pg_catalog.pg_stat_progress_create_index p
        join pg_catalog.pg_class c on c.oid = p.relid
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where p.datname = current_database() and n.nspname = ${sql.placeholder('schema')} order by p.pid`,
      ([table, phase, done, total]) => ({
        table: textCell(table),
        phase: textCell(phase),
        done: integerCell(done),
        total: integerCell(total),
      }),
    ),
    { schema },
  );
}

/** Says how far PostgreSQL is with the indexes of a schema while the work lasts, on a connection of its own. */
export async function withIndexProgress<T>(
  { target, schema, say }: { readonly target: Target; readonly schema: string; readonly say: (text: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const watching = watch(target, schema, say, ended.signal);
  try {
    return await work();
  } finally {
    ended.abort();
    await watching;
  }
}

async function watch(target: Target, schema: string, say: (text: string) => void, ended: AbortSignal): Promise<void> {
  let database: OpenDatabase | undefined;
  try {
    for (;;) {
      await sleepReal(LOOKS_EVERY_MS, ended);
      database ??= await openDatabase(target);
      const [build] = await database.driver.withConnection((executor) => askIndexBuilds(executor, schema));
      if (build && !ended.aborted) say(buildText(build));
    }
  } catch {
    // The work has ended, or there is no connection to spare: what is being done is told by the work itself.
  } finally {
    await database?.close();
  }
}

function buildText({ table, phase, done, total }: IndexBuild): string {
  return `index on ${table}, ${phase}${total > 0 ? `, ${Math.floor((100 * done) / total)} %` : ''}`;
}

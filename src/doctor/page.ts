import { sql, type SQL } from 'drizzle-orm';
import type { ProviderContext } from '../provider/drizzle/context.js';
import type { Transaction } from '../provider/drizzle/executor.js';
import { inTransaction } from '../provider/drizzle/transaction.js';
import { Findings } from './findings.js';

/** Instances that are looked at in one snapshot. */
export const INSTANCES_PER_PAGE = 200;
/** Rows that one statement reads. */
export const ROWS_PER_READ = 500;
/** Bytes of payload that one statement reads, or a single row. */
const BYTES_PER_READ = 8 * 1024 * 1024;

export const OPERATION = 'check_invariants';

export interface CheckScope {
  readonly ctx: ProviderContext;
  readonly maxViolations: number;
  readonly longestLockMs: number;
  readonly signal: AbortSignal | undefined;
  /** Hears of what was looked at so far. */
  readonly onPage: (total: Findings) => void;
}

/**
 * Looks at one page after the other until there is none. Each page is one transaction that
 * sees a single snapshot and writes nothing, so that a store at work looks as consistent as
 * it is, and no snapshot is held for longer than a page takes.
 * @param look reads the page after `after`, and answers where it ended or `undefined` for the last one
 */
export async function forEachPage<Key>(
  scope: CheckScope,
  total: Findings,
  look: (tx: Transaction, findings: Findings, nowMs: number, after: Key | undefined) => Promise<Key | undefined>,
): Promise<void> {
  let after: Key | undefined;
  do {
    scope.signal?.throwIfAborted();
    const from = after;
    const page = await inTransaction(
      scope.ctx,
      OPERATION,
      async (tx, nowMs) => {
        const findings = new Findings(scope.maxViolations);
        await tx.script('set transaction isolation level repeatable read, read only');
        return { findings, after: await look(tx, findings, nowMs, from) };
      },
      { repeatable: true },
    );
    total.add(page.findings);
    scope.onPage(total);
    after = page.after;
  } while (after !== undefined);
}

/**
 * Cuts what a statement reads to {@link BYTES_PER_READ}, but never to nothing.
 * @param rows a query of at most {@link ROWS_PER_READ} rows with a column `payload`
 * @param order the columns that order them, the same in and outside
 */
export function withinBytes(rows: SQL, columns: SQL, order: SQL): SQL {
  return sql`select ${columns} from (
      select r.*, row_number() over w as row_no, sum(octet_length(r.payload)) over w as bytes from (${rows}) r
      window w as (order by ${order})
    ) cut where row_no = 1 or bytes <= ${sql.raw(String(BYTES_PER_READ))} order by ${order}`;
}

export function sha256Of(column: SQL): SQL {
  return sql`encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
}

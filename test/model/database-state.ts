import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { SteppedDriver } from './stepped-driver.js';

/** An operation whose statements are let through one at a time. */
export interface Stepped {
  readonly stepped: SteppedDriver;
  /** Its only connection, and the server process behind it. */
  readonly client: pg.ClientBase;
  readonly pid: number;
}

/**
 * Names the states of one run: two moments with the same name go on in the same way,
 * whatever order of statements led to them. A name is made of
 *
 * - what each operation has sent and been answered, which is all that it knows;
 * - every committed row of the schema, and who has locked, changed or deleted it (`xmax`);
 * - what each open transaction sees of these tables, and with that what it has written;
 * - advisory locks, and who waits for what, and who waits longest;
 * - of a statement that waits in the middle, the database as it was when it began and at
 *   each moment since: what it has done so far follows from these.
 *
 * Tokens and transaction ids are named by their owners. What is left out: where rows stand
 * on their pages, dead rows, and where sequences are; no statement of ours decides by them.
 */
export class RunStates {
  /** Transactions of this run, by the operation that they are of; they stay when they have ended. */
  private readonly transactions = new Map<string, number>();
  /** Of each waiting statement: the databases that it has met. */
  private readonly met = new Map<number, string[]>();

  constructor(
    private readonly admin: pg.ClientBase,
    private readonly queries: StateQueries,
    private readonly operations: readonly Stepped[],
  ) {}

  /** @param waits whose statement waits for a lock; the others wait to be let through, or have ended */
  async name(waits: readonly boolean[], answers: readonly (string | undefined)[]): Promise<string> {
    const pids = this.operations.map(({ pid }) => pid);
    const { rows } = await this.admin.query<Committed>({ ...this.queries.committed, values: [pids] });
    const seen = rows[0] as Committed;
    for (const { pid, xid } of seen.transactions) this.transactions.set(xid, pids.indexOf(pid));
    const writes = new Set(seen.transactions.map(({ pid }) => pids.indexOf(pid)));
    const own: (string | null)[] = [];
    for (const [index, { client }] of this.operations.entries()) {
      const mayAsk = writes.has(index) && waits[index] !== true;
      own.push(mayAsk ? ((await client.query<{ rows: string }>(this.queries.own)).rows[0]?.rows ?? '') : null);
    }
    const database = this.withOwners(
      JSON.stringify([
        seen.tables.map(([table, row, holder]) => [table, row, this.holder(holder, seen.transactions)]),
        own,
        seen.locks.map(({ pid, ...lock }) => [pids.indexOf(pid), lock]),
      ]),
    );
    const memories = this.operations.map(({ stepped }, index) => {
      if (waits[index] !== true) this.met.delete(index);
      else this.met.set(index, withoutRepeats([...(this.met.get(index) ?? [this.last]), database]));
      return [stepped.log, stepped.pending, stepped.deadlocks, answers[index] ?? null, this.met.get(index) ?? null];
    });
    this.last = database;
    return createHash('sha256')
      .update(JSON.stringify([database, memories]))
      .digest('base64');
  }

  /** The database before the latest step. */
  private last = '';

  /** An `xmax` of another transaction that has ended says nothing any more. */
  private holder(xmax: string, open: Committed['transactions']): number | string | null {
    if (xmax === '0') return null;
    const owner = this.transactions.get(xmax);
    // Unknown: several holders, or a transaction that began and ended within a step. Equal only to itself.
    if (owner === undefined) return xmax;
    return open.some(({ xid }) => xid === xmax) ? owner : null;
  }

  private withOwners(text: string): string {
    let named = text;
    for (const [index, { stepped }] of this.operations.entries()) {
      for (const [at, prefix] of stepped.tokenPrefixes.entries())
        named = named.replaceAll(prefix, `token${index}.${at}:`);
    }
    return named;
  }
}

interface Committed {
  readonly tables: readonly (readonly [table: string, row: string, xmax: string])[];
  readonly transactions: readonly { readonly pid: number; readonly xid: string }[];
  readonly locks: readonly { readonly pid: number }[];
}

interface NamedQuery {
  readonly name: string;
  readonly text: string;
}

/** How the rows of all tables of a schema are read. */
export interface StateQueries {
  readonly committed: NamedQuery;
  readonly own: NamedQuery;
}

export async function stateQueries(admin: pg.ClientBase, schema: string): Promise<StateQueries> {
  const { rows } = await admin.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = $1 and tablename not like '%migrations%' order by 1`,
    [schema],
  );
  const all = (columns: string) =>
    rows.map(({ name }, index) => `select ${index} as t, ${columns} from ${name} r`).join(' union all ');
  return {
    committed: {
      name: `committed of ${schema}`,
      text: `select
        (select coalesce(json_agg(json_build_array(t, r, x) order by t, r), '[]') from (${all('r::text as r, xmax::text as x')}) a) as tables,
        (select coalesce(json_agg(json_build_object('pid', pid, 'xid', transactionid::text)), '[]') from pg_locks
          where locktype = 'transactionid' and granted and mode = 'ExclusiveLock' and pid = any($1::int[])) as transactions,
        (select coalesce(json_agg(json_build_object('pid', pid, 'type', locktype, 'mode', mode, 'granted', granted, 'key', objid, 'class', classid)
            order by waitstart, pid, locktype, classid, objid), '[]') from pg_locks
          where (locktype in ('advisory', 'tuple') or not granted) and pid = any($1::int[])) as locks`,
    },
    own: {
      name: `own of ${schema}`,
      text: `select json_agg(json_build_array(t, r) order by t, r)::text as rows from (${all('r::text as r')}) a`,
    },
  };
}

function withoutRepeats(list: readonly string[]): string[] {
  return list.filter((item, index) => index === 0 || item !== list[index - 1]);
}

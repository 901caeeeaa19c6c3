import type pg from 'pg';
import type { CpuMeter } from '../harness/cpu.js';

/** What the server has done so far. */
export interface ServerReading {
  readonly cpuMs: number;
  readonly commits: number;
  readonly walBytes: number;
  /** Without BEGIN, COMMIT and ROLLBACK. */
  readonly statements: number;
  /** Rows that scans returned or indexes fetched. */
  readonly rowsRead: number;
  /** Pages that statements looked at, in shared buffers or on disk; what vacuum does is not among them. */
  readonly buffers: number;
}

/** Reads the counters of a server with `pg_stat_statements`. */
export class ServerCounters {
  constructor(
    private readonly client: pg.ClientBase,
    private readonly cpu: CpuMeter,
  ) {}

  async install(): Promise<void> {
    await this.client.query('create extension if not exists pg_stat_statements');
  }

  async read(): Promise<ServerReading> {
    // Sessions report their commits with a delay of up to a second, unless they are idle.
    const { rows } = await this.client.query<
      Record<'commits' | 'wal' | 'statements' | 'rows_read' | 'buffers', string>
    >(`
      select (select sum(xact_commit) from pg_stat_database)::text as commits,
        pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as wal,
        (select sum(tup_returned + tup_fetched) from pg_stat_database where datname = current_database())::text as rows_read,
        s.buffers::text, s.statements::text
      from (select coalesce(sum(shared_blks_hit + shared_blks_read), 0) as buffers,
          coalesce(sum(calls) filter (where query !~* '^(begin|commit|rollback|start transaction)'), 0) as statements
        from pg_stat_statements) s`);
    const row = rows[0];
    return {
      cpuMs: this.cpu.read().server,
      commits: Number(row?.commits),
      walBytes: Number(row?.wal),
      statements: Number(row?.statements),
      rowsRead: Number(row?.rows_read),
      buffers: Number(row?.buffers),
    };
  }
}

export function difference(after: ServerReading, before: ServerReading): ServerReading {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    commits: after.commits - before.commits,
    walBytes: after.walBytes - before.walBytes,
    statements: after.statements - before.statements,
    rowsRead: after.rowsRead - before.rowsRead,
    buffers: after.buffers - before.buffers,
  };
}

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
  /** Pages looked at, in shared buffers or on disk. */
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
        (select sum(blks_hit + blks_read) from pg_stat_database where datname = current_database())::text as buffers,
        (select coalesce(sum(calls), 0) from pg_stat_statements
          where query !~* '^(begin|commit|rollback|start transaction)')::text as statements`);
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

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { freePort, serverUser } from './postgres-server.js';

/** Why a test that needs pgbouncer is skipped. */
export const NO_PGBOUNCER = 'pgbouncer is neither on PATH nor named by PGBOUNCER_PATH';

/** A pgbouncer in transaction mode before a server, on a free port of the loopback interface. */
export interface Pgbouncer {
  /** Of the same database as the server's. */
  readonly url: string;
  close(): Promise<void>;
}

/** `PGBOUNCER_PATH`, else what PATH has; also where Debian puts it, which is not on everybody's PATH. */
export function findPgbouncer(): string | undefined {
  const named = process.env['PGBOUNCER_PATH'];
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];
  const candidates = named ? [named] : folders.map((folder) => path.join(folder, 'pgbouncer'));
  return candidates.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface PgbouncerOptions {
  /** Connections that the pooler opens to the server. @defaultValue 20 */
  readonly poolSize?: number;
}

/** @throws Error when pgbouncer is missing or does not accept a connection within a few seconds */
export async function startPgbouncer(serverUrl: string, { poolSize = 20 }: PgbouncerOptions = {}): Promise<Pgbouncer> {
  const program = findPgbouncer();
  if (program === undefined) throw new Error(NO_PGBOUNCER);
  const server = new URL(serverUrl);
  const folder = mkdtempSync(path.join(tmpdir(), 'ddz-pgbouncer-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = path.join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=${server.hostname} port=${server.port} user=${decodeURIComponent(server.username)}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      `default_pool_size = ${poolSize}`,
      'max_client_conn = 400',
      'ignore_startup_parameters = extra_float_digits,options',
    ].join('\n'),
  );
  let log = '';
  // It refuses to run as root.
  const user = await serverUser();
  const child = spawn(program, [file], { stdio: ['ignore', 'pipe', 'pipe'], ...user });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const url = new URL(serverUrl);
  url.port = String(port);
  const close = async () => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(url.href, child, () => log);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: url.href, close };
}

async function untilReady(url: string, child: ChildProcess, log: () => string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (child.exitCode !== null) break;
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('select 1');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw new Error(`pgbouncer did not start:\n${log()}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

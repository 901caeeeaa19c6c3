import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = process.cwd();

/** The package as npm would publish it, unpacked outside of the checkout. */
export interface PackedPackage {
  /**
   * Makes a project of `test/consumer/projects` that depends on the package and on
   * `dependencies`; `files` are added, by name.
   */
  project(name: string, dependencies: readonly string[], files?: Readonly<Record<string, string>>): Promise<Project>;
  destroy(): Promise<void>;
}

/** A small project that uses the package, with its own `node_modules`. */
export interface Project {
  /**
   * Runs Node in the project; answers with what it printed, on both streams.
   * @param env added to this process's
   * @throws with that text in the message
   */
  node(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}

/** Builds (unless `DDZ_PREBUILT` says that `dist` is up to date), packs and unpacks. */
export async function packPackage(): Promise<PackedPackage> {
  const work = await mkdtemp(path.join(tmpdir(), 'ddz-consumer-'));
  if (!process.env['DDZ_PREBUILT']) await npm(['run', 'build']);
  const packed = await npm(['pack', '--ignore-scripts', '--json', '--pack-destination', work]);
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  await run('tar', ['-xzf', path.join(work, filename), '-C', work]);
  return {
    async project(name, dependencies, files = {}) {
      const folder = await mkdtemp(path.join(work, `${name}-`));
      const modules = path.join(folder, 'node_modules');
      for (const source of ['shared', name]) {
        await cp(path.join(root, 'test', 'consumer', 'projects', source), folder, { recursive: true });
      }
      for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text);
      // A copy and not a link: what the package imports must be found from where it is installed.
      await cp(path.join(work, 'package'), path.join(modules, 'duroxide-drizzle'), { recursive: true });
      for (const dependency of new Set([...(await installed()), ...dependencies])) await link(dependency, modules);
      return { node: (args, env) => node(args, folder, env) };
    },
    destroy: () => rm(work, { recursive: true, force: true }),
  };
}

/** What npm would install with the package; `uuid` only where a test asks for it, because CommonJS does without. */
async function installed(): Promise<string[]> {
  const { dependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return Object.keys(dependencies).filter((name) => name !== 'uuid');
}

/** Dependencies are those of the checkout: installing them once more would prove nothing about the package. */
async function link(dependency: string, modules: string): Promise<void> {
  const target = path.join(modules, ...dependency.split('/'));
  await mkdir(path.dirname(target), { recursive: true });
  await symlink(path.join(root, 'node_modules', ...dependency.split('/')), target, 'junction');
}

async function npm(args: readonly string[]): Promise<string> {
  const { stdout } = await run('npm', [...args], { cwd: root, shell: process.platform === 'win32' });
  return stdout;
}

async function node(args: readonly string[], cwd: string, added: Readonly<Record<string, string>> = {}) {
  // What this test run was told is not meant for the project.
  const notInherited = ['NODE_OPTIONS', 'NODE_ENV', 'JEST_WORKER_ID', 'FORCE_COLOR'];
  const inherited = Object.entries(process.env).filter(([key]) => !notInherited.includes(key));
  // Vitest colours its report where CI is set, and the tests read it.
  const env = { ...Object.fromEntries(inherited), NO_COLOR: '1' };
  try {
    const { stdout, stderr } = await run(process.execPath, [...args], { cwd, env: { ...env, ...added } });
    return stdout + stderr;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`node ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Path of a file inside one of the checkout's dependencies: the command of a test runner. */
export async function commandOf(dependency: string, name = dependency): Promise<string> {
  const folder = path.join(root, 'node_modules', ...dependency.split('/'));
  const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  const bin = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[name];
  if (bin === undefined) throw new Error(`${dependency} has no command ${name}`);
  return path.join(folder, bin);
}

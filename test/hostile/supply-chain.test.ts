import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

async function json<T>(file: string): Promise<T> {
  return JSON.parse(await readFile(file, 'utf8')) as T;
}

describe('the lock file', () => {
  test('pins every package with its hash, and is the one that package.json asks for', async () => {
    const lock = await json<{
      lockfileVersion: number;
      packages: Record<string, Locked & { dependencies?: unknown; devDependencies?: unknown }>;
    }>('package-lock.json');
    const manifest = await json<{ dependencies: unknown; devDependencies: unknown }>('package.json');
    expect(lock.lockfileVersion).toBe(3);
    expect(lock.packages['']).toMatchObject({
      dependencies: manifest.dependencies,
      devDependencies: manifest.devDependencies,
    });
    const loose = Object.entries(lock.packages).filter(
      ([path, { link, integrity, resolved }]) =>
        path.includes('node_modules/') &&
        !link &&
        !(/^sha512-/.test(integrity ?? '') && /^https:/.test(resolved ?? 'https:')),
    );
    expect(loose.map(([path]) => path)).toEqual([]);
  });

  test('what applications install beside the package runs no script when it is installed', async () => {
    const { packages } = await json<{ packages: Record<string, Locked> }>('package-lock.json');
    const running = Object.entries(packages).filter(
      ([, { hasInstallScript, dev, devOptional }]) => hasInstallScript && !dev && !devOptional,
    );
    expect(running.map(([path]) => path)).toEqual([]);
  });
});

test('the package has no install script, and is published with its provenance', async () => {
  const manifest = await json<{ scripts: Record<string, string>; publishConfig: unknown; files: string[] }>(
    'package.json',
  );
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];
  expect(Object.keys(manifest.scripts).filter((name) => atInstall.includes(name))).toEqual([]);
  expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true });
  expect(manifest.files).not.toContain('scripts');
  expect(manifest.files).toEqual(expect.arrayContaining(['SECURITY.md', 'LICENSE', 'CHANGELOG.md']));
});

test('the reference of all exports is made before the package is packed, in a folder that is part of it', async () => {
  const { scripts, files } = await json<{ scripts: Record<string, string>; files: string[] }>('package.json');
  const { out } = await json<{ out: string }>('typedoc.json');
  // Not only before publishing: docs/README.md says that the package has it.
  expect(scripts['prepack']).toContain('npm run docs:api');
  expect(scripts['docs:api']).toBe('typedoc');
  expect(files).toContain(out.split('/')[0]);
});

describe('the audit of the dependencies', () => {
  /** Runs the script with an `npm` that prints this. */
  async function audit(output: string, ...args: string[]): Promise<{ code: number; text: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'ddz-audit-'));
    try {
      await writeFile(
        join(folder, 'npm'),
        `#!${process.execPath}\nprocess.stdout.write(${JSON.stringify(output)}); process.exitCode = 1;\n`,
        { mode: 0o755 },
      );
      const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}` };
      return await new Promise((resolve) => {
        execFile(process.execPath, ['scripts/audit.mjs', ...args], { env }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code) : 0, text: stdout + stderr });
        });
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  const advisory = (severity: string) =>
    JSON.stringify({
      vulnerabilities: {
        pg: { name: 'pg', severity, range: '<1', via: [{ title: 'bad', url: 'https://example.test/1' }] },
      },
    });

  test.each(['high', 'critical'])('%s fails, and says what it is', async (severity) => {
    expect(await audit(advisory(severity))).toEqual({
      code: 1,
      text: `${severity}: pg <1: bad (https://example.test/1)\n`,
    });
  });

  test('lower ones are counted', async () => {
    expect(await audit(advisory('moderate'))).toEqual({
      code: 0,
      text: 'no known advisory that is high or critical (1 lower)\n',
    });
  });

  test.each([
    ['a registry without the service', '{"error":{"code":"ENOAUDIT","summary":"not implemented"}}', 'not implemented'],
    ['a proxy that answers something else', '<html>', 'npm audit printed no JSON'],
    [
      'no network',
      '{"message":"request to https://registry failed","error":{"summary":"","detail":""}}',
      'request to https://registry failed',
    ],
  ])('%s: reported as not checked', async (_what, output, reason) => {
    expect(await audit(output)).toEqual({
      code: 0,
      text: `NOT CHECKED: the audit service did not answer (${reason})\n`,
    });
    expect(await audit(output, '--strict')).toMatchObject({ code: 1 });
  });
});

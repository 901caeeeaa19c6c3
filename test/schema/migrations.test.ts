import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { embeddedMigrations } from '../../scripts/embed-migrations.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

describe('tables, migrations and their built-in copy', () => {
  test('the built-in copy is what drizzle/ says', async () => {
    const builtIn = await readFile(path.join(root, 'src/schema/migrations.generated.ts'), 'utf8');
    expect(await embeddedMigrations()).toBe(builtIn);
  });

  test('drizzle-kit finds nothing to generate', async () => {
    // Below the checkout, because drizzle-kit takes its folder relative to where it runs.
    const out = await mkdtemp(path.join(root, 'node_modules', '.ddz-drift-'));
    try {
      await cp(path.join(root, 'drizzle'), out, { recursive: true });
      const bin = path.join(root, 'node_modules', 'drizzle-kit', 'bin.cjs');
      const relative = path.relative(root, out);
      const schema = path.join('src', 'schema', 'drizzle-kit.ts');
      const { stdout } = await run(
        process.execPath,
        [bin, 'generate', '--dialect', 'postgresql', '--schema', schema, '--out', relative],
        { cwd: root, env: { ...process.env, NODE_OPTIONS: '' } },
      );
      expect(stdout).toContain('No schema changes');
      expect(await readdir(out)).toEqual(await readdir(path.join(root, 'drizzle')));
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });
});

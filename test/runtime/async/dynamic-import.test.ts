import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { bundledProgram } from '../../support/bundled-program.js';

test('R:3.0 rule 3: import() of a module that is not loaded yet is found; once it is loaded the instance goes on', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'ddz-import-'));
  const program = await bundledProgram('test/runtime/programs/dynamic-import.ts');
  try {
    const module = path.join(folder, 'late.mjs');
    await writeFile(module, "export default 'loaded';\n");
    const { stdout, stderr } = spawnSync(process.execPath, [program.file, pathToFileURL(module).href], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const lines = stdout.trimEnd().split('\n');
    expect(lines.pop()).toBe('loaded');
    for (const line of lines) expect(line).toContain("orchestration 'imports'");
    // Node 20 reads the module's file in the background; one that reads it at once has nothing to be found.
    if (process.versions.node.startsWith('20.')) expect(lines.length).toBeGreaterThan(0);
  } finally {
    await program.remove();
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);

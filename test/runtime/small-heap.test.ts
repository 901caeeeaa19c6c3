import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundledProgram } from '../support/bundled-program.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { LineProcess } from '../support/line-process.js';

const schema = uniqueSchema('heap');
let program: { readonly file: string; remove(): Promise<void> };
beforeAll(async () => {
  program = await bundledProgram('test/runtime/programs/small-heap.ts');
});
afterAll(async () => {
  await program.remove();
  await dropSchema(schema);
});

test('C-24 a worker with a heap of 64 MB takes payloads of MiB, refuses what is too large, and lives', async () => {
  const child = new LineProcess(['--max-old-space-size=64', program.file, databaseUrl(), schema]);
  const lines = await child.end();
  const seen = Object.assign({}, ...lines) as Record<string, unknown>;
  const MIB = 1024 * 1024;
  expect(seen).toMatchObject({
    one: [MIB, MIB],
    four: [4 * MIB, 4 * MIB],
    over: expect.stringContaining(`exceeds limit (${16 * MIB} bytes)`),
    caught: expect.stringContaining(`exceeds limit (${16 * MIB} bytes)`),
    'many-19': [MIB, MIB],
    healthy: [0, 0],
  });
});

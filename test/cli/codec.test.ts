import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { withCodec } from '../../src/provider/codec/codec-provider.js';
import type { PayloadCodec } from '../../src/provider/codec/payload-codec.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { OrchestrationContext } from '../../src/runtime/generator/orchestration-context.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { cli } from '../support/cli.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';

const schema = uniqueSchema('cli');
const folder = mkdtempSync(path.join(tmpdir(), 'ddz-cli-'));
const SECRET = 'open-sesame';
const CODEC = `export const codec = {
  name: 'mirror',
  encode: (payload) => Buffer.from(payload).toString('hex'),
  decode: (data) => Buffer.from(data, 'hex').toString(),
};`;
let provider: DrizzleProvider;
let runtime: Runtime;
let client: Client;

const at = (...argv: string[]) => cli([...argv, '--schema', schema], { cwd: folder });

beforeAll(async () => {
  writeFileSync(path.join(folder, 'codec.mjs'), CODEC);
  writeFileSync(
    path.join(folder, 'broken.mjs'),
    CODEC.replace('decode: (data) =>', `decode: () => { throw new Error('${SECRET}'); }, never: (data) =>`),
  );
  writeFileSync(path.join(folder, 'none.mjs'), 'export const key = 1;');
  writeFileSync(
    path.join(folder, 'code.mjs'),
    'export function* Whisper(ctx, input) { yield ctx.scheduleActivity("Say", input); return input; }',
  );
  const { codec } = (await import(path.join(folder, 'codec.mjs'))) as { codec: PayloadCodec };
  provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  const store = withCodec(provider, codec);
  client = new Client(store);
  runtime = new Runtime(store, { logger: silentLogger, logLevel: 'off' });
  runtime.registerActivity('Say', (_ctx: unknown, text: unknown) => text);
  runtime.registerOrchestration('Whisper', function* (ctx: OrchestrationContext, input: unknown): Generator<
    unknown,
    unknown,
    never
  > {
    ctx.setCustomStatus(SECRET);
    yield ctx.scheduleActivity('Say', input);
    return input;
  });
  await runtime.start();
  await client.startOrchestration('w-1', 'Whisper', SECRET);
  await client.waitForOrchestration('w-1');
}, 60_000);
afterAll(async () => {
  await runtime.shutdown();
  await provider.close();
  await dropSchema(schema);
  rmSync(folder, { recursive: true, force: true });
});

test('without the codec payloads are named by it, wherever they are shown', async () => {
  for (const argv of [['show', 'w-1'], ['show', 'w-1', '--full'], ['list'], ['watch', 'w-1']]) {
    const { code, stdout } = await at(...argv);
    expect(code).toBe(0);
    expect(stdout).toContain('<encoded by mirror>');
    expect(stdout).not.toContain(Buffer.from(SECRET).toString('hex'));
  }
});

test('with it they are read, and written as workers read them', async () => {
  const shown = await at('show', 'w-1', '--codec', 'codec.mjs');
  expect(shown.stdout).toContain(`"${SECRET}"`);
  const byEnvironment = await cli(['show', 'w-1', '--schema', schema], {
    cwd: folder,
    env: { DUROXIDE_CODEC: 'codec.mjs' },
  });
  expect(byEnvironment.stdout).toContain(SECRET);
  expect((await at('start', 'Whisper', '"psst"', '--id', 'w-2', '--wait', '--codec', 'codec.mjs')).stdout).toContain(
    'Completed: "psst"',
  );
  const stored = await provider.read('w-2');
  expect(JSON.stringify(stored)).not.toContain('psst');
});

test('an export with it can be replayed; one without it is refused with what to do', async () => {
  expect((await at('export', 'w-1', '--out', 'raw.json')).code).toBe(0);
  const refused = await at('replay', 'raw.json', '--module', 'code.mjs');
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/payloads of raw\.json are encoded by "mirror"[^]*--codec FILE/) as unknown,
  });
  expect((await at('export', 'w-1', '--out', 'read.json', '--codec', 'codec.mjs')).code).toBe(0);
  expect(readFileSync(path.join(folder, 'read.json'), 'utf8')).toContain(SECRET);
  const differs = await at('replay', 'read.json', '--module', 'code.mjs');
  expect(differs.code).toBe(7);
  expect(differs.stdout).toContain('custom status');
});

test.each([
  ['nowhere.mjs', 3, 'there is no file nowhere.mjs'],
  ['none.mjs', 2, 'none.mjs exports no codec; expected { name, encode(payload'],
])('a codec of %s ends with %i', async (file, code, message) => {
  expect(await at('list', '--codec', file)).toMatchObject({
    code,
    stderr: expect.stringContaining(message) as unknown,
  });
});

test('a codec that throws is named with instance and value, and what it said is not shown', async () => {
  const { code, stderr } = await at('show', 'w-1', '--codec', 'broken.mjs');
  expect(code).toBe(4);
  expect(stderr).toMatch(/the codec 'mirror' could not decode .* of instance 'w-1' \(Error\)/);
  expect(stderr).not.toContain(SECRET);
});

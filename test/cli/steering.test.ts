import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { OrchestrationContext } from '../../src/runtime/generator/orchestration-context.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { cli, cliJson, interruption } from '../support/cli.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { databaseUrl, dropSchema, isWaitedFor, uniqueSchema, withClient } from '../support/database.js';
import { waitFor } from '../support/waiting.js';

type Steps = Generator<unknown, unknown, never>;

const schema = uniqueSchema('cli');
const folder = mkdtempSync(path.join(tmpdir(), 'ddz-cli-'));
let provider: DrizzleProvider;
let runtime: Runtime;
let client: Client;

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  client = new Client(provider);
  runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
  runtime.registerOrchestration('Hello', function* (_ctx: OrchestrationContext, input: unknown): Steps {
    return input;
  });
  runtime.registerOrchestration('Signed', function* (ctx: OrchestrationContext): Steps {
    return yield ctx.waitForEvent('go');
  });
  runtime.registerOrchestration('Queued', function* (ctx: OrchestrationContext): Steps {
    return yield ctx.dequeueEvent('mail');
  });
  runtime.registerOrchestration('Counting', function* (ctx: OrchestrationContext, n: number): Steps {
    if (n < 4) return yield ctx.continueAsNew(n + 1);
    return yield ctx.waitForEvent('end');
  });
  await runtime.start();
}, 60_000);

afterAll(async () => {
  await runtime.shutdown();
  await provider.close();
  await dropSchema(schema);
  rmSync(folder, { recursive: true, force: true });
});

const at = (...argv: string[]) => cli([...argv, '--schema', schema], { cwd: folder });
const json = <T>(...argv: string[]) => cliJson<T>([...argv, '--schema', schema]);
const status = async (id: string) => (await provider.asManagement().getInstanceInfo(id)).status;

/** Waits until the instance waits for something. */
async function waiting(id: string, event: HistoryEvent['kind']): Promise<void> {
  await waitFor(`${event} of ${id}`, async () => (await provider.read(id)).some(({ kind }) => kind === event));
}

/** An instance that has ended. */
async function finished(...ids: string[]): Promise<void> {
  for (const id of ids) {
    await client.startOrchestration(id, 'Hello');
    await client.waitForOrchestration(id);
  }
}

describe('start', () => {
  test('gives the id of a new instance, and with --wait its end', async () => {
    const { code, stdout } = await at('start', 'Hello', '{"a": 1}', '--wait', '--id', 'hello-1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/OrchestrationStarted {2}Hello 1\.0\.0 {2}\{"a":1\}[^]*Completed: \{"a":1\}/);
    const { instanceId } = await json<{ instanceId: string }>('start', 'Hello');
    expect(instanceId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('takes its input from a file or from stdin', async () => {
    writeFileSync(path.join(folder, 'input.json'), '[1, 2]');
    expect((await at('start', 'Hello', '@input.json', '--wait')).stdout).toContain('Completed: [1,2]');
    const piped = await cli(['start', 'Hello', '-', '--wait', '--schema', schema], { stdin: '"piped"' });
    expect(piped.stdout).toContain('Completed: "piped"');
  });

  test('refuses an id that is taken, and an input that is no JSON', async () => {
    await finished('taken');
    const taken = await at('start', 'Hello', '--id', 'taken');
    expect(taken.code).toBe(4);
    expect(taken.stderr).toContain('instance "taken" exists already (Hello, Completed)');
    const text = await at('start', 'Hello', 'text');
    expect(text.code).toBe(2);
    expect(text.stderr).toContain('the input is not JSON; expected a JSON value');
    expect((await at('start', 'Hello', '@nowhere.json')).code).toBe(3);
  });
});

test('watch tells what happens while it looks, and Ctrl-C ends it with 130', async () => {
  await at('start', 'Signed', '--id', 'watched');
  await waiting('watched', 'ExternalSubscribed');
  const stop = interruption();
  const { code, stdout } = await cli(['watch', 'watched', '--interval', '1s', '--schema', schema], {
    signal: stop.signal,
    onOutput: (written) => written.includes('ExternalSubscribed') && stop.interrupt(),
  });
  expect(stdout).toMatch(/OrchestrationStarted[^]*ExternalSubscribed {2}go/);
  expect(code).toBe(130);
});

test('raise and enqueue reach an instance that runs, and nobody else', async () => {
  await at('start', 'Signed', '--id', 'signed');
  await waiting('signed', 'ExternalSubscribed');
  expect((await at('raise', 'signed', 'go', '"now"')).stdout).toBe('raised go\n');
  expect((await at('watch', 'signed')).stdout).toContain('Completed: "now"');
  await at('start', 'Queued', '--id', 'queued', '--wait', '--timeout', '0s');
  expect(await json('enqueue', 'queued', 'mail', '{"n": 1}')).toEqual({ instanceId: 'queued', enqueued: 'mail' });
  expect((await at('watch', 'queued')).stdout).toContain('Completed: {"n":1}');
  const late = await at('raise', 'signed', 'go');
  expect(late.code).toBe(4);
  expect(late.stderr).toContain('instance "signed" has ended (Completed)');
  expect((await at('raise', 'nobody', 'go')).code).toBe(3);
});

test('cancel asks first, and waits for the end where it is told to', async () => {
  await at('start', 'Signed', '--id', 'cancelled', '--wait', '--timeout', '0s');
  await waiting('cancelled', 'ExternalSubscribed');
  const unasked = await at('cancel', 'cancelled');
  expect(unasked.code).toBe(4);
  expect(unasked.stderr).toContain('nothing was changed');
  expect(await status('cancelled')).toBe('Running');
  expect((await at('cancel', 'cancelled', '--yes', '--wait', '--reason', 'enough')).code).toBe(0);
  expect((await at('watch', 'cancelled')).stdout).toContain('Failed: canceled: enough');
});

describe('delete', () => {
  test('never means everything, shows what it would delete, and asks', async () => {
    await finished('old-1', 'old-2');
    expect((await at('delete')).code).toBe(2);
    expect((await at('delete', '--yes')).stderr).toContain('no instances were given; expected ids or a filter');
    expect((await at('delete', 'old-1', '--status', 'Completed')).code).toBe(2);
    const dry = await at('delete', 'old-1', 'old-2', '--dry-run');
    expect(dry.stdout).toMatch(/old-1[^]*old-2/);
    const unasked = await at('delete', 'old-1');
    expect(unasked.code).toBe(4);
    expect(await status('old-1')).toBe('Completed');
    expect(await json('delete', 'old-1', '--yes')).toMatchObject({ instancesDeleted: 1 });
    expect((await at('show', 'old-1')).code).toBe(3);
    expect(await status('old-2')).toBe('Completed');
  });

  test('one that runs, or a name that is unknown, stops all of it before anything is gone', async () => {
    await finished('done');
    await at('start', 'Signed', '--id', 'running', '--wait', '--timeout', '0s');
    await waiting('running', 'ExternalSubscribed');
    const running = await at('delete', 'done', 'running', '--yes');
    expect(running.code).toBe(4);
    expect(running.stderr).toContain('"running" is Running; expected instances that have ended; nothing was deleted');
    expect((await at('delete', 'done', 'nobody', '--yes')).code).toBe(3);
    expect(await status('done')).toBe('Completed');
    expect((await at('delete', '--status', 'Running', '--yes')).code).toBe(2);
    expect((await at('delete', '--name', 'Hello', '--force', '--yes')).code).toBe(2);
    expect(await json('delete', 'running', '--force', '--yes')).toMatchObject({ instancesDeleted: 1 });
  });

  test('an interruption lets the one at hand be finished, leaves the rest, and says what was done', async () => {
    await finished('i-1', 'i-2', 'i-3');
    const stop = interruption();
    const answer = await withClient(async (client) => {
      await client.query('begin');
      await client.query(`select from ${schema}.instances where instance_id = 'i-2' for update`);
      const deleting = cli(['delete', 'i-1', 'i-2', 'i-3', '--yes', '--schema', schema], { signal: stop.signal });
      await waitFor('the deletion of i-2 waits', () => isWaitedFor(client));
      stop.interrupt();
      await client.query('rollback');
      return deleting;
    });
    expect(answer.code).toBe(130);
    expect(answer.stdout).toContain('deleted 2 instances,');
    expect(await status('i-3')).toBe('Completed');
    expect((await at('show', 'i-2')).code).toBe(3);
  });

  test('a filter takes ended roots only, at most as many as it may', async () => {
    await finished('f-1', 'f-2', 'f-3');
    const dry = await json<{ roots: string[] }>(
      'delete',
      '--name',
      'Hello',
      '--status',
      'Completed',
      '--limit',
      '2',
      '--dry-run',
    );
    expect(dry.roots).toEqual(['f-3', 'f-2']);
    expect(await json<{ roots: string[] }>('delete', '--completed-before', '2020-01-01', '--dry-run')).toMatchObject({
      roots: [],
    });
    expect(await json('delete', '--name', 'Hello', '--limit', '2', '--yes')).toMatchObject({ instancesDeleted: 2 });
    expect(await status('f-1')).toBe('Completed');
  });
});

test('prune shows and deletes old executions by the rule that it is given', async () => {
  await at('start', 'Counting', '1', '--id', 'counting');
  await waiting('counting', 'ExternalSubscribed');
  expect((await at('prune', 'counting')).stderr).toContain('expected --keep-last or --completed-before');
  expect((await at('prune', '--keep-last', '1')).code).toBe(2);
  expect(await json('prune', 'counting', '--keep-last', '2', '--dry-run')).toEqual({
    dryRun: true,
    instances: [{ instanceId: 'counting', executions: [1, 2] }],
  });
  expect(await json('prune', 'counting', '--completed-before', '1h', '--dry-run')).toMatchObject({ instances: [] });
  expect(await json('prune', 'counting', '--completed-before', '0s', '--dry-run')).toMatchObject({
    // The current one runs.
    instances: [{ instanceId: 'counting', executions: [1, 2, 3] }],
  });
  const unasked = await at('prune', 'counting', '--keep-last', '2');
  expect(unasked).toMatchObject({ code: 4, stdout: '  counting  2 executions (1 to 2)\n' });
  expect(await json('prune', '--all', '--keep-last', '2', '--yes')).toMatchObject({ executionsDeleted: 2 });
  expect(await provider.asManagement().listExecutions('counting')).toEqual([3, 4]);
  expect((await at('prune', 'counting', '--keep-last', '2')).stdout).toBe('nothing to prune\n');
});

describe('replay', () => {
  const program = `export function* Signed(ctx) { return yield ctx.waitForEvent('go'); }`;

  test('the same code passes, a change is told with its position, what was expected and what came', async () => {
    await at('start', 'Signed', '--id', 'recorded', '--wait', '--timeout', '0s');
    await waiting('recorded', 'ExternalSubscribed');
    await at('export', 'recorded', '--out', 'recorded.json');
    expect((await at('export', 'recorded', '--out', 'recorded.json')).code).toBe(4);
    writeFileSync(path.join(folder, 'same.mjs'), program);
    writeFileSync(path.join(folder, 'changed.mjs'), program.replace("'go'", "'other'"));
    const same = await at('replay', 'recorded.json', '--module', 'same.mjs');
    expect(same).toMatchObject({ code: 0, stdout: 'same    recorded.json, execution 1: Signed, 2 events, running\n' });
    const changed = await at('replay', 'recorded.json', '--module', 'changed.mjs');
    expect(changed.code).toBe(7);
    expect(changed.stdout).toMatch(
      /differs recorded\.json, execution 1: Signed at event 2\n {2}expected: .*go.*\n {2}actual: {3}.*other/,
    );
    expect(JSON.parse((await at('replay', 'recorded.json', '--module', 'changed.mjs', '--json')).stdout)).toMatchObject(
      [{ ok: false, position: 2 }],
    );
  });

  test('doctor --deep --module replays what is stored, and tells which code decides otherwise', async () => {
    await at('start', 'Signed', '--id', 'stored', '--wait', '--timeout', '0s');
    await waiting('stored', 'ExternalSubscribed');
    await finished('not-in-the-module');
    writeFileSync(path.join(folder, 'stored.mjs'), program);
    writeFileSync(path.join(folder, 'other.mjs'), program.replace("'go'", "'other'"));
    const deep = async (module: string) => {
      const { code, stdout } = await at('doctor', '--deep', '--module', module, '--json');
      const { findings } = JSON.parse(stdout) as { findings: { check: string; text: string }[] };
      const of = (check: string) => findings.filter((one) => one.check === check).map(({ text }) => text);
      return { code, differs: of('history-replays'), deep: of('deep'), replays: of('replays') };
    };
    expect(await deep('stored.mjs')).toEqual({
      code: 0,
      differs: [],
      deep: [expect.stringMatching(/^nothing is lost, doubled or stuck \(.*, [1-9]\d* replayed\)$/)],
      replays: [expect.stringMatching(/^\d+ executions? (was|were) not replayed$/)],
    });
    const other = await deep('other.mjs');
    expect(other.code).toBe(7);
    expect(other.differs).toContainEqual(expect.stringMatching(/^instance "stored", execution 1.*other/));
    expect((await at('doctor', '--deep', '--module', 'nowhere.mjs')).code).toBe(3);
  });

  test('files and modules that are none are named', async () => {
    writeFileSync(path.join(folder, 'some.mjs'), program);
    writeFileSync(path.join(folder, 'empty.mjs'), 'export const nothing = 1;');
    writeFileSync(path.join(folder, 'bad.mjs'), 'export const = ;');
    writeFileSync(path.join(folder, 'no-history.json'), '{"a": 1}');
    writeFileSync(path.join(folder, 'text.json'), 'text');
    await finished('hello-r');
    await at('export', 'hello-r', '--out', 'hello.json');
    const replay = (file: string, module: string) => at('replay', file, '--module', module);
    expect((await replay('nowhere.json', 'some.mjs')).code).toBe(3);
    expect((await replay('no-history.json', 'some.mjs')).stderr).toContain('no-history.json is no history');
    expect((await replay('text.json', 'some.mjs')).stderr).toContain('text.json is no JSON');
    expect((await replay('hello.json', 'nowhere.mjs')).code).toBe(3);
    expect((await replay('hello.json', 'bad.mjs')).code).toBe(2);
    expect((await replay('hello.json', 'empty.mjs')).stderr).toContain('empty.mjs exports no orchestration');
    const other = await replay('hello.json', 'some.mjs');
    expect(other.code).toBe(3);
    expect(other.stderr).toContain("some.mjs has no orchestration 'Hello' 1.0.0; it exports Signed");
    expect((await at('replay', 'hello.json')).code).toBe(2);
  });
});

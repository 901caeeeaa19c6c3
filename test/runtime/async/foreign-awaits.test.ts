import { AsyncResource } from 'node:async_hooks';
import { exec } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createReadStream, readFile } from 'node:fs';
import * as files from 'node:fs/promises';
import { get } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { activity, type Logger, orchestration, type TypedOrchestrationContext } from '../../../src/index.js';
import { RecordingLogger } from '../../support/runtime-harness.js';
import { describeScenarios, type RunScenario } from '../../support/scenarios.js';

const echo = activity('echo', async (_ctx, input: unknown) => input);
/** Nobody listens there; ports below are refused by `fetch` itself, which needs no waiting. */
const CLOSED_PORT = 'http://127.0.0.1:59321/';

type Code = (ctx: TypedOrchestrationContext) => Promise<unknown>;

/** What no replay can repeat. Each is found, with the line in this file. */
const foreign: Readonly<Record<string, Code>> = {
  'a timer': () => new Promise((resolve) => setTimeout(resolve, 1)),
  'a timer of timers/promises': () => sleep(1),
  'an immediate': () => new Promise((resolve) => setImmediate(resolve)),
  'the file system': () => files.readFile('package.json'),
  'the file system, by callback': () => new Promise((resolve) => readFile('package.json', resolve)),
  'a file stream': async () => {
    for await (const chunk of createReadStream('package.json')) return String(chunk).length;
    return 0;
  },
  'the network': () => new Promise((resolve) => connect(1).on('error', resolve)),
  http: () => new Promise((resolve) => get(CLOSED_PORT).on('error', resolve)),
  fetch: async () => fetch(CLOSED_PORT).catch(String),
  'name resolution': () => lookup('localhost'),
  WebCrypto: () => crypto.subtle.digest('SHA-256', new Uint8Array(1)),
  'random bytes, by callback': () => promisify(randomBytes)(4),
  'another process': () => promisify(exec)('true'),
  'a promise that never settles': async () => {
    await new Promise(() => {});
  },
  'a race of a call with a timer': async (ctx) => Promise.race([ctx.call(echo, 1), sleep(1)]),
  'all of a call and a timer': async (ctx) => Promise.all([ctx.call(echo, 1), sleep(1)]),
  'a helper of a helper': async (ctx) => {
    const pause = async () => sleep(1);
    const helper = async () => {
      await ctx.call(echo, 1);
      await pause();
    };
    await helper();
  },
};

/** What is as deterministic as the code around it, or no part of it. */
const allowed: Readonly<Record<string, Code>> = {
  printing: async () => console.debug('printed by an orchestration'),
  'microtasks and ticks': async () => {
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    await new Promise<void>((resolve) => process.nextTick(resolve));
  },
  'synchronous jobs of the system': async () => {
    gzipSync('x');
    randomBytes(4);
    crypto.randomUUID();
  },
  'a stream in memory': async () => {
    for await (const chunk of Readable.from(['a', 'b'])) if (chunk !== 'a' && chunk !== 'b') throw new Error('?');
  },
  'a carried context': async () => AsyncResource.bind(() => 1)(),
  'an abort controller': async () => new AbortController().abort(),
};

const scenarios: Record<string, RunScenario> = {};

for (const [what, code] of Object.entries(foreign)) {
  scenarios[`R:3.0 rules 3 and 4: ${what} is found, the instance waits, and a corrected deploy lets it go on`] =
    async ({ open, id, clock }) => {
      const logger = new RecordingLogger();
      const wrong = orchestration('wrong', code, { version: '1.2.3' });
      const runtime = open({ definitions: [echo, wrong] }, { logger });
      const startedAtMs = clock.nowMs();
      const handle = await runtime.client.start(wrong, undefined, { id: id() });
      // The back-off: at once, after 1 s, after 2 s more.
      await runtime.settle();
      await runtime.advance(1_000);
      await runtime.advance(2_000);
      const errors = reportsOf(logger);
      expect(errors.length).toBeGreaterThanOrEqual(3);
      for (const error of errors) {
        expect(error.message).toMatch(`orchestration 'wrong' (1.2.3), instance '${handle.id}': `);
      }
      // Where it could not be seen at first, it is looked for from the next turn on.
      expect(errors.at(-1)?.message.split('\n')[1]).toMatch(/^ +at .*foreign-awaits\.test/);
      expect((await handle.status()).status).not.toBe('Failed');
      expect(clock.nowMs()).toBe(startedAtMs + 3_000);

      const right: Code = async (ctx) => [await ctx.call(echo, 1), 'corrected'];
      const corrected = orchestration('wrong', right, { version: '1.2.3' });
      const deployed = open({ definitions: [echo, corrected] });
      await deployed.advance(4_000);
      expect(await handle.result({ timeoutMs: 0 })).toEqual([1, 'corrected']);
    };
}

for (const [what, code] of Object.entries(allowed)) {
  scenarios[`R:3.0 rule 3: ${what} is no foreign await`] = async ({ open, id }) => {
    const fine = orchestration('fine', async (ctx) => {
      await code(ctx);
      await ctx.call(echo, 1);
      await code(ctx);
      return 'fine';
    });
    const runtime = open({ definitions: [echo, fine] });
    const handle = await runtime.client.start(fine, undefined, { id: id() });
    await runtime.settle();
    expect(await handle.result({ timeoutMs: 0 })).toBe('fine');
  };
}

scenarios['the log of the context may do what it likes, and keeps silent on replay'] = async ({ open, id }) => {
  const lines: string[] = [];
  const line = (_fields: unknown, message: string) => {
    setTimeout(() => {}, 0);
    lines.push(message);
  };
  const logger: Logger = { debug: line, info: line, warn: line, error: line };
  const logs = orchestration('logs', async (ctx) => {
    ctx.log.info('first');
    await ctx.call(echo, 1);
    ctx.log.info('second');
    return 'logged';
  });
  const runtime = open({ definitions: [echo, logs] }, { logger, verifyWarm: false });
  const handle = await runtime.client.start(logs, undefined, { id: id() });
  await runtime.settle();
  expect(await handle.result({ timeoutMs: 0 })).toBe('logged');
  expect(lines.filter((message) => message === 'first' || message === 'second')).toEqual(['first', 'second']);
};

scenarios['C-34 a durable promise that two instances share is refused to the one that did not make it'] = async ({
  open,
  id,
}) => {
  const logger = new RecordingLogger();
  let shared: Promise<unknown> | undefined;
  const owner = orchestration('owner', async (ctx) => (shared = ctx.call(echo, 'shared')));
  const thief = orchestration('thief', async (ctx) => {
    const first = await Promise.race([shared, ctx.waitForEvent('never')]);
    return ctx.call(echo, first);
  });
  const runtime = open({ definitions: [echo, owner, thief] }, { logger, warmInstances: 10, verifyWarm: false });
  const [one, two] = [id('owner'), id('thief')];
  const owned = await runtime.client.start(owner, undefined, { id: one });
  await runtime.parts.orchestrations.runOnce();
  await runtime.parts['processor'].drained();
  const stolen = await runtime.client.start(thief, undefined, { id: two });
  await runtime.settle();
  expect(await owned.result({ timeoutMs: 0 })).toBe('shared');
  const [report] = reportsOf(logger);
  expect(report?.message.split('\n')).toEqual([
    expect.stringMatching(`^orchestration 'thief' .*, instance '${two}': its context was used outside its own turn`),
    expect.stringMatching(/^ +at .*foreign-awaits\.test/),
  ]);
  expect((await stolen.status()).status).toBe('Running');
};

describeScenarios('foreign awaits', scenarios, ['memory']);

/** What was logged of errors; the log takes them apart. */
function reportsOf({ lines }: RecordingLogger): { readonly name: string; readonly message: string }[] {
  return lines.flatMap(({ fields }) => {
    const error = fields['error'] as { name: string; message: string } | undefined;
    return error?.name === 'ForeignAwaitError' ? [error] : [];
  });
}

import { describe, expect, test } from '@jest/globals';
import { activity, Client, orchestration, Runtime, SystemClock } from '../../../src/index.js';
import { MemoryProvider } from '../../support/memory-provider.js';
import { RecordingLogger } from '../../support/runtime-harness.js';

const raw: readonly (readonly [string, string, () => unknown])[] = [
  ['Date.now()', 'ctx.now()', () => Date.now()],
  ['new Date()', 'ctx.now()', () => new Date().getTime()],
  ['Math.random()', 'ctx.random()', () => Math.random()],
  ['crypto.randomUUID()', 'ctx.newGuid()', () => crypto.randomUUID()],
  ['crypto.getRandomValues()', 'ctx.random()', () => crypto.getRandomValues(new Uint8Array(1))],
  ['performance.now()', 'ctx.now()', () => performance.now()],
];

describe('the development check for raw time and chance', () => {
  test.each(raw)(
    '%s is warned about once for a definition, with its place, and %s named',
    async (what, instead, call) => {
      const { warnings } = await run(call, true);
      expect(warnings).toEqual([
        {
          message: `an orchestration calls ${what}, which gives another value on each replay; use ${instead}`,
          place: expect.stringMatching(/^ +at .*raw-calls\.test/),
        },
      ]);
    },
  );

  test('what the library does itself, activities, and dates of given values are no raw calls', async () => {
    expect((await run(() => new Date(0).getTime(), true)).warnings).toEqual([]);
  });

  test('off, nothing is replaced and nothing is said; and a stop puts everything back', async () => {
    const before = globals();
    const { warnings, during } = await run(() => Date.now(), false);
    expect(warnings).toEqual([]);
    expect(during).toEqual(before);
    await run(() => Date.now(), true);
    expect(globals()).toEqual(before);
    expect(globals().every((now, n) => now === before[n])).toBe(true);
  });
});

/** What the check replaces. */
function globals(): unknown[] {
  return [
    Date,
    Reflect.get(Math, 'random'),
    Reflect.get(crypto, 'randomUUID'),
    Reflect.get(crypto, 'getRandomValues'),
    Reflect.get(performance, 'now'),
  ];
}

async function run(call: () => unknown, warnRawCalls: boolean) {
  const logger = new RecordingLogger();
  const free = activity('free', async () => [Date.now(), Math.random()].length);
  const calls = orchestration('calls', async (ctx) => {
    call();
    await ctx.call(free);
    await ctx.sleep(1);
    await ctx.now();
    call();
    return typeof ctx.random();
  });
  const provider = new MemoryProvider(new SystemClock());
  const runtime = new Runtime(provider, { logger, warnRawCalls, dispatcherPollIntervalMs: 1 });
  runtime.register(free, calls);
  await runtime.start();
  const during = globals();
  const client = new Client(provider);
  for (let i = 0; i < 2; i++) expect(await (await client.start(calls)).result()).toBe('number');
  await runtime.shutdown();
  const warnings = logger.lines.filter(({ level }) => level === 'warn');
  return { during, warnings: warnings.map(({ message, fields }) => ({ message, place: fields['place'] })) };
}

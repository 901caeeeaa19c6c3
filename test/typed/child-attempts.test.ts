import { describe, expect, test } from '@jest/globals';
import {
  activity,
  declareOrchestration,
  DurableTimeoutError,
  FakeClock,
  orchestration,
  type OrchestrationOptions,
  type Registrable,
  SubOrchestrationError,
  type TypedOrchestrationContext,
} from '../../src/index.js';
import { replay } from '../../src/testing/replay/replay.js';
import { recordHistory } from '../../src/testing/replay/recorded-history.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime } from '../support/runtime-harness.js';

type Called = ReturnType<TypedOrchestrationContext['call']>;
type Call = (ctx: TypedOrchestrationContext) => Called;

/** The same parent in both styles. */
const STYLES: readonly (readonly [string, (call: Call) => Registrable])[] = [
  ['an async function', (call) => orchestration('parent', async (ctx) => await call(ctx))],
  [
    'a generator',
    (call) =>
      orchestration('parent', function* (ctx) {
        return yield* call(ctx);
      }),
  ],
];

let ran = 0;
let breaks = 0;
const work = activity('work', (_ctx, n: number) => {
  ran += 1;
  if (ran <= breaks) throw new Error(`attempt ${ran} of ${n}`);
  return n * 2;
});

/** A child that fails so often, and one that waits for an event that never comes. */
function children(options: OrchestrationOptions<number, number> = {}) {
  const declared = declareOrchestration<number, number>('child', options);
  const waiting = declareOrchestration<void, unknown>('waiting', options as OrchestrationOptions<void, unknown>);
  return {
    child: declared.implement(async (ctx, n) => ctx.call(work, n)),
    waiting: waiting.implement(async (ctx) => ctx.waitForEvent('never')),
  };
}

function stage(definitions: readonly Registrable[], failures = 0) {
  ran = 0;
  breaks = failures;
  const clock = new FakeClock();
  const provider = new MemoryProvider(clock);
  const runtime = new SteppedRuntime(provider, clock, { definitions: [work, ...definitions] }, { verifyWarm: true });
  const start = async (parent: Registrable) => {
    await runtime.client.start(parent as never, undefined, { id: 'p' });
    await runtime.settle();
  };
  const ids = async () =>
    (await provider.read('p')).flatMap((event) => (event.kind === 'SubOrchestrationScheduled' ? [event.instance] : []));
  const kinds = async () => (await provider.read('p')).map(({ kind }) => kind);
  /** Today's code comes to the same decisions again, from the history alone. */
  const replays = async (...parents: Registrable[]) => {
    const history = await recordHistory(provider, 'p');
    for (const parent of parents) await replay(parent, history);
  };
  return { provider, runtime, start, ids, kinds, replays };
}

const RETRY = { maxAttempts: 3, backoff: { kind: 'fixed', delayMs: 1_000 } } as const;

describe.each(STYLES)('R:3.0 attempts of a child, called by %s', (_style, parentOf) => {
  const bothStyles = (call: Call) => STYLES.map(([, make]) => make(call));

  test.each([
    [1014, 2, undefined],
    [1013, 10, undefined],
    [1024, 1, undefined],
    [1016, 2, /1016 bytes.*at most 1014 bytes.*limit is 1024 bytes.*2 attempts need 10 more/],
    [1014, 10, /1014 bytes.*at most 1013 bytes.*10 attempts need 11 more/],
  ])('an id of %d bytes and %d attempts: refused at the call, or never', async (bytes, maxAttempts, refusal) => {
    const { child } = children();
    const id = 'é'.repeat(Math.floor(bytes / 2)) + 'x'.repeat(bytes % 2);
    let caught: unknown;
    const parent = orchestration('parent', async (ctx) => {
      try {
        await ctx.call(child, 1, { id, retry: { maxAttempts, backoff: { kind: 'fixed', delayMs: 0 } } });
      } catch (error) {
        caught = error;
      }
      return 'goes on';
    });
    const { runtime, start, ids } = stage([child, parent], 100);
    await start(parent);
    expect(await runtime.client.getStatus('p')).toMatchObject({ status: 'Completed' });
    if (refusal === undefined) {
      expect(caught).toBeInstanceOf(SubOrchestrationError);
      expect(await ids()).toHaveLength(maxAttempts);
    } else {
      expect(caught).toBeInstanceOf(RangeError);
      expect((caught as Error).message).toMatch(refusal);
      expect(await ids()).toEqual([]);
    }
  });

  test('a child that fails is tried again as another instance, after the pause of its policy', async () => {
    const { child } = children({ retry: RETRY });
    const call: Call = (ctx) => ctx.call(child, 21);
    const parent = parentOf(call);
    const { runtime, start, ids, kinds, replays } = stage([child, parent], 1);
    await start(parent);
    expect(await ids()).toEqual(['sub::2']);
    expect((await kinds()).at(-1)).toBe('TimerCreated');
    await runtime.advance(1_000);
    expect(await ids()).toEqual(['sub::2', 'sub::6']);
    expect(await runtime.client.getStatus('p')).toMatchObject({ status: 'Completed', output: '42' });
    await replays(...bothStyles(call));
  });

  test('what the call says goes before what the definition says; a given id is that of the first attempt', async () => {
    const { child } = children({ retry: { maxAttempts: 9 } });
    const call: Call = (ctx) =>
      ctx.call(child, 1, { id: 'kid', retry: { ...RETRY, backoff: { kind: 'fixed', delayMs: 0 } } });
    const parent = parentOf(call);
    const { runtime, start, ids, replays } = stage([child, parent], 9);
    await start(parent);
    expect(await ids()).toEqual(['kid', 'kid::retry::2', 'kid::retry::3']);
    const failure = await runtime.client.getStatus('p');
    expect(failure).toMatchObject({ status: 'Failed', error: expect.stringContaining('attempt 3 of 1') as unknown });
    await replays(...bothStyles(call));
  });

  test('a child that takes too long is cancelled, and its call fails with the time-out', async () => {
    const { waiting } = children({ timeoutMs: 5_000 });
    const call: Call = (ctx) => ctx.call(waiting, undefined, { id: 'slow' });
    const parent = parentOf(call);
    const { provider, runtime, start, ids, replays } = stage([waiting, parent]);
    await start(parent);
    await runtime.advance(4_999);
    expect((await runtime.client.getStatus('slow')).status).toBe('Running');
    await runtime.advance(1);
    expect(await runtime.client.getStatus('p')).toMatchObject({
      status: 'Failed',
      error: expect.stringContaining("timeout: orchestration 'waiting' did not end within 5000 ms") as unknown,
    });
    expect((await provider.read('slow')).map(({ kind }) => kind)).toContain('OrchestrationCancelRequested');
    expect(await ids()).toEqual(['slow']);
    await replays(...bothStyles(call));
  });

  test('an attempt that took too long is tried again only where the policy says so', async () => {
    const { waiting } = children({
      timeoutMs: 1_000,
      retry: { maxAttempts: 2, backoff: { kind: 'fixed', delayMs: 0 }, retryOnTimeout: true },
    });
    const call: Call = (ctx) => ctx.call(waiting);
    const parent = parentOf(call);
    const { runtime, start, ids, replays } = stage([waiting, parent]);
    await start(parent);
    await runtime.advance(1_000);
    expect(await ids()).toHaveLength(2);
    await runtime.advance(1_000);
    expect((await runtime.client.getStatus('p')).status).toBe('Failed');
    await replays(...bothStyles(call));
  });

  test('a child that somebody has cancelled, and an id that is taken, are not tried again', async () => {
    const { waiting } = children({ retry: RETRY });
    const call: Call = (ctx) => ctx.call(waiting, undefined, { id: 'one' });
    const parent = parentOf(call);
    const cancelled = stage([waiting, parent]);
    await cancelled.start(parent);
    await cancelled.runtime.client.cancelInstance('one', 'enough');
    await cancelled.runtime.settle();
    expect((await cancelled.runtime.client.getStatus('p')).status).toBe('Failed');
    expect(await cancelled.ids()).toEqual(['one']);

    const taken = stage([waiting, parent]);
    await taken.runtime.client.start(waiting, undefined, { id: 'one' });
    await taken.runtime.settle();
    await taken.start(parent);
    expect(await taken.runtime.client.getStatus('p')).toMatchObject({
      status: 'Failed',
      error: expect.stringContaining("'one' already exists") as unknown,
    });
    expect(await taken.ids()).toEqual(['one']);
  });
});

test('a start by a client has one attempt and no limit: both are of calls', async () => {
  const { waiting } = children({ timeoutMs: 1_000, retry: RETRY });
  const { runtime } = stage([waiting]);
  await runtime.client.start(waiting, undefined, { id: 'w' });
  await runtime.settle();
  await runtime.advance(60_000);
  expect((await runtime.client.getStatus('w')).status).toBe('Running');
});

test('errors of both kinds are caught by their classes; retryIf decides from the error', async () => {
  const { child, waiting } = children();
  const seen: Error[] = [];
  const parent = orchestration('parent', async (ctx) => {
    const note = (error: Error) => void seen.push(error);
    await ctx
      .call(child, 1, { retry: { maxAttempts: 5, retryIf: (error) => !error.message.includes('attempt 1') } })
      .catch(note);
    await ctx.call(waiting, undefined, { timeoutMs: 10 }).catch(note);
  });
  const { runtime, start } = stage([child, waiting, parent], 9);
  await start(parent);
  await runtime.advance(10);
  expect(ran).toBe(1);
  expect(seen.some((error) => error instanceof SubOrchestrationError)).toBe(true);
  expect(seen.some((error) => error instanceof DurableTimeoutError && error.what === "orchestration 'waiting'")).toBe(
    true,
  );
});

test.each([
  [{ timeoutMs: -1 }, 'timeoutMs: expected a finite number from 0, got -1'],
  [{ timeoutMs: '5s' as never }, 'timeoutMs: expected a finite number from 0, got string'],
  [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts: expected an integer of at least 1, got 0'],
  [
    { retry: { backoff: { kind: 'fixed', delayMs: NaN } } },
    'retry.backoff.delayMs: expected a finite number from 0, got NaN',
  ],
] as const)('options %j are refused at the definition and at the call, by name', async (options, problem) => {
  expect(() => orchestration('bad', async () => 1, options)).toThrow(`orchestration 'bad': ${problem}`);
  expect(() => activity('bad', () => 1, options)).toThrow(`activity 'bad': ${problem}`);
  const { child } = children();
  const parent = orchestration('parent', async (ctx) => ctx.call(child, 1, options));
  const { runtime, start, ids } = stage([child, parent]);
  await start(parent);
  expect(await runtime.client.getStatus('p')).toMatchObject({
    status: 'Failed',
    error: expect.stringContaining(`orchestration 'child': ${problem}`) as unknown,
  });
  expect(await ids()).toEqual([]);
});

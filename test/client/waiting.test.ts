import { beforeEach, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { InstanceExistsError } from '../../src/client/errors.js';
import { orchestration } from '../../src/typed/definitions.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime } from '../support/runtime-harness.js';

/** Shows what it is told, until it is told to end. */
const shows = orchestration('shows', async (ctx) => {
  for (;;) {
    const next = await ctx.dequeue<{ show?: readonly unknown[]; reset?: boolean; end?: boolean }>('next');
    for (const value of next.show ?? []) ctx.status.set(value);
    if (next.reset) ctx.status.reset();
    if (next.end) return 'ended';
  }
});

describe('waiting for an instance', () => {
  let runtime: SteppedRuntime;
  let provider: MemoryProvider;
  beforeEach(() => {
    const clock = new FakeClock();
    provider = new MemoryProvider(clock);
    runtime = new SteppedRuntime(provider, clock, { definitions: [shows] });
  });
  const started = async () => {
    const handle = await runtime.client.start(shows, undefined, { id: 'x' });
    await runtime.settle();
    return handle;
  };
  const tell = async (next: unknown) => {
    await runtime.client.enqueueEvent('x', 'next', next);
    await runtime.settle();
  };
  /** Who still waits, and so still looks. */
  const waiters = () => runtime.client['states']['waiters'].size;

  describe('handle.watch()', () => {
    test('gives each status as it changes, of quick changes the last one, and ends with the instance', async () => {
      const handle = await started();
      const seen = handle.watch<{ n: number } | undefined>();
      const first = seen.next();
      await tell({ show: [{ n: 1 }] });
      expect(await first).toEqual({ done: false, value: { n: 1 } });
      await tell({ show: [{ n: 2 }, { n: 3 }] });
      expect(await seen.next()).toEqual({ done: false, value: { n: 3 } });
      const cleared = seen.next();
      await tell({ reset: true });
      expect(await cleared).toEqual({ done: false, value: undefined });
      const last = seen.next();
      await tell({ end: true });
      expect(await last).toEqual({ done: true, value: undefined });
      expect(waiters()).toBe(0);
    });

    test('begins with the status that stands, also of an instance that has ended', async () => {
      const handle = await started();
      await tell({ show: ['first', 'last'], end: true });
      const seen: unknown[] = [];
      for await (const status of handle.watch()) seen.push(status);
      expect(seen).toEqual(['last']);
    });

    test('a status and the end in one turn: both are told', async () => {
      const handle = await started();
      const seen = handle.watch();
      const next = seen.next();
      await tell({ show: ['done'], end: true });
      expect(await next).toEqual({ done: false, value: 'done' });
      expect(await seen.next()).toEqual({ done: true, value: undefined });
    });

    test('break leaves nobody waiting, and the instance goes on', async () => {
      const handle = await started();
      await tell({ show: ['first'] });
      for await (const status of handle.watch()) {
        expect(status).toBe('first');
        break;
      }
      expect(waiters()).toBe(0);
      expect(await handle.status()).toMatchObject({ status: 'Running', custom: 'first', customVersion: 1 });
    });

    test('a signal ends it with its reason, while it waits and before', async () => {
      const handle = await started();
      const stop = new AbortController();
      const reason = new Error('enough');
      const seen = handle.watch({ signal: stop.signal });
      const next = seen.next();
      stop.abort(reason);
      await expect(next).rejects.toBe(reason);
      expect(await seen.next()).toEqual({ done: true, value: undefined });
      await expect(handle.watch({ signal: stop.signal }).next()).rejects.toBe(reason);
      expect(waiters()).toBe(0);
      expect((await handle.status()).status).toBe('Running');
    });
  });

  describe('a signal ends the wait and not the instance', () => {
    const waits = {
      result: (signal: AbortSignal) => runtime.client.handle(shows, 'x').result({ signal }),
      waitForOrchestration: (signal: AbortSignal) => runtime.client.waitForOrchestration('x', -1, { signal }),
      waitForOrchestrationTyped: (signal: AbortSignal) => runtime.client.waitForOrchestrationTyped('x', -1, { signal }),
      waitForStatusChange: (signal: AbortSignal) => runtime.client.waitForStatusChange('x', 0, 5, -1, { signal }),
      waitForValue: (signal: AbortSignal) => runtime.client.waitForValue('x', 'key', -1, { signal }),
    };

    test.each(Object.entries(waits))('%s', async (_name, wait) => {
      const handle = await started();
      const stop = new AbortController();
      const reason = new Error('enough');
      const waiting = wait(stop.signal);
      const another = wait(new AbortController().signal);
      stop.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      // Aborted beforehand, it does not even look.
      await expect(wait(AbortSignal.abort(reason))).rejects.toBe(reason);
      expect((await handle.status()).status).toBe('Running');
      // Who waits beside it goes on waiting, and gets its answer.
      provider.kv.set('x', new Map([['key', { value: 'value', lastUpdatedAtMs: 0 }]]));
      await tell({ show: ['shown'], end: true });
      expect(await another).toBeDefined();
      expect(await handle.result({ signal: new AbortController().signal })).toBe('ended');
    });

    test('a signal that outlives its waits keeps nothing of them', async () => {
      const handle = await started();
      await tell({ end: true });
      const { signal } = new AbortController();
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => void ((listeners += 1), add(...args));
      signal.removeEventListener = (...args: Parameters<typeof remove>) => void ((listeners -= 1), remove(...args));
      for (let i = 0; i < 3; i++) await handle.result({ signal });
      expect(listeners).toBe(0);
    });
  });

  test('a time-out that a passed deadline left negative looks once, and finds an end that is there', async () => {
    const never = runtime.client.handle(shows, 'never');
    await expect(never.result({ timeoutMs: -4 })).rejects.toMatchObject({ name: 'WaitTimeoutError', timeoutMs: 0 });
    const handle = await started();
    await tell({ end: true });
    expect(await handle.result({ timeoutMs: -4 })).toBe('ended');
  });

  describe('ifExists', () => {
    const calls = () => provider.orchestratorQueue.length;

    test("'error' is refused while a start waits, while the instance runs, and after its end; nothing is stored", async () => {
      const refused = async () => {
        const before = calls();
        const start = runtime.client.start(shows, undefined, { id: 'x', ifExists: 'error' });
        const error: unknown = await start.catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(InstanceExistsError);
        expect(error).toMatchObject({ instanceId: 'x', orchestrationName: 'shows', code: 'GenericFailure' });
        expect((error as Error).message).toBe("orchestration 'shows' was not started: instance 'x' exists already");
        expect(calls()).toBe(before);
      };
      await runtime.client.start(shows, undefined, { id: 'x', ifExists: 'error' });
      await refused();
      await runtime.settle();
      await refused();
      await tell({ end: true });
      await refused();
    });

    test("of quick starts with 'error' one passes", async () => {
      const starts = Array.from({ length: 5 }, () =>
        runtime.client.start(shows, undefined, { id: 'x', ifExists: 'error' }),
      );
      const outcomes = await Promise.allSettled(starts);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(calls()).toBe(1);
    });

    test.each(['use', undefined] as const)('%s gives the handle of the instance that is there', async (ifExists) => {
      await started();
      const again = await runtime.client.start(shows, undefined, { id: 'x', ifExists });
      await tell({ show: ['same'], end: true });
      expect(await again.result()).toBe('ended');
      expect(await again.status()).toMatchObject({ custom: 'same', customVersion: 1 });
    });

    test('another word is refused with what was given, and nothing is stored', async () => {
      const wrong = { id: 'x', ifExists: 'replace' as 'use' };
      await expect(runtime.client.start(shows, undefined, wrong)).rejects.toThrow(
        "ifExists must be 'use' or 'error', got 'replace'",
      );
      expect(calls()).toBe(0);
    });
  });
});

test('ctx.status.get() gives the last value set: across turns, after a reset, and after continue-as-new', async () => {
  const reads = orchestration('reads', async (ctx, seen: unknown[]): Promise<unknown> => {
    seen.push(ctx.status.get() ?? 'nothing');
    if (seen.length > 1) return seen;
    ctx.status.set({ step: 1 });
    seen.push(ctx.status.get());
    await ctx.sleep(1);
    seen.push(ctx.status.get());
    ctx.status.reset();
    seen.push(ctx.status.get() ?? 'nothing');
    ctx.status.set([2]);
    ctx.status.setText('no JSON');
    seen.push(ctx.status.get());
    ctx.status.set('carried over');
    return ctx.continueAsNew(seen);
  });
  for (const options of [{ verifyWarm: true }, { warmInstances: 0 }]) {
    const clock = new FakeClock();
    const runtime = new SteppedRuntime(new MemoryProvider(clock), clock, { definitions: [reads] }, options);
    const handle = await runtime.client.start(reads, [], { id: 'x' });
    await runtime.runToEnd('x');
    expect(await handle.result()).toEqual(['nothing', { step: 1 }, { step: 1 }, 'nothing', 'no JSON', 'carried over']);
    runtime.assertFaithful();
  }
});

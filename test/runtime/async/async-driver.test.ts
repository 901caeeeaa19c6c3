import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AsyncDriver, type AsyncPort } from '../../../src/runtime/async/async-driver.js';
import { AsyncHost } from '../../../src/runtime/async/async-host.js';
import { createExecution } from '../../../src/runtime/replay/execution.js';
import type { LiveExecution, TurnOutcome } from '../../../src/runtime/replay/turn.js';
import type { HistoryEvent } from '../../../src/wire/event.js';
import type { WorkItem } from '../../../src/wire/work-item.js';

const NOW = 1_800_000_000_000;

let host: AsyncHost;
let release: () => void;
beforeEach(() => {
  host = new AsyncHost();
  release = host.retain();
});
afterEach(() => release());

/** The smallest context: enough to drive, without the typed API above it. */
function contextOn(port: AsyncPort) {
  return {
    call: (name: string, input = '') =>
      new Promise<string>((resolve, reject) => {
        port.emit(
          { kind: 'scheduleActivity', name, input },
          { resolve: (value) => resolve(value ?? 'null'), reject: (failure) => reject(new Error(failure)) },
        );
      }),
    continueAsNew: (input: string) => {
      port.emitDetached({ kind: 'continueAsNew', input, version: null });
      return new Promise<never>(() => {});
    },
  };
}

type Context = ReturnType<typeof contextOn>;

function execute(code: (ctx: Context) => Promise<string>, instance = 'x'): LiveExecution {
  return createExecution({
    instance,
    executionId: 1,
    createDriver: (port, info) =>
      new AsyncDriver(host, port, info, async (asyncPort) => {
        try {
          return { kind: 'output', output: await code(contextOn(asyncPort)) };
        } catch (error) {
          return { kind: 'error', message: (error as Error).message };
        }
      }),
  });
}

const start = { name: 'Async', version: '1.0.0', input: '' };

function cold(live: LiveExecution, history: readonly HistoryEvent[] = [], messages: readonly WorkItem[] = []) {
  return Promise.resolve(live.runCold({ history, start, messages, now: () => NOW }));
}

function warm(live: LiveExecution, messages: readonly WorkItem[]): Promise<TurnOutcome> {
  return Promise.resolve(live.runWarm({ messages, now: () => NOW }));
}

const completed = (id: number, result: string, instance = 'x'): WorkItem => ({
  kind: 'ActivityCompleted',
  instance,
  executionId: 1,
  id,
  result,
});
const failed = (id: number, message: string): WorkItem => ({
  kind: 'ActivityFailed',
  instance: 'x',
  executionId: 1,
  id,
  details: { kind: 'Application', application: { kind: 'ActivityFailed' }, message, retryable: false },
});

describe('async orchestrations', () => {
  test('R:FR-03 schedule at the call, go on with the outcome, and end with what was returned', async () => {
    const live = execute(async (ctx) => `${await ctx.call('a')}${await ctx.call('b')}`);
    const first = await cold(live);
    expect(first.historyDelta.map(({ kind }) => kind)).toEqual(['OrchestrationStarted', 'ActivityScheduled']);
    const second = await warm(live, [completed(2, 'A')]);
    expect(second.workerItems).toMatchObject([{ kind: 'ActivityExecute', name: 'b' }]);
    const third = await warm(live, [completed(4, 'B')]);
    expect(third.result).toEqual({ kind: 'completed', output: 'AB' });
  });

  test('Promise.all schedules everything at once and replays to the same history', async () => {
    const code = async (ctx: Context) => (await Promise.all(['a', 'b', 'c'].map((name) => ctx.call(name)))).join();
    const live = execute(code);
    const first = await cold(live);
    const second = await warm(live, [completed(4, 'C'), completed(2, 'A')]);
    const history = [...first.historyDelta, ...second.historyDelta];
    const replayed = await cold(execute(code), history, [completed(3, 'B')]);
    expect(replayed.result).toEqual({ kind: 'completed', output: 'A,B,C' });
    expect((await warm(live, [completed(3, 'B')])).historyDelta).toEqual(replayed.historyDelta);
  });

  test('Promise.race cancels nobody, and the winner follows history order', async () => {
    const live = execute(async (ctx) => Promise.race([ctx.call('slow'), ctx.call('fast')]));
    await cold(live);
    const outcome = await warm(live, [completed(3, 'fast'), completed(2, 'slow')]);
    expect(outcome.result).toEqual({ kind: 'completed', output: 'fast' });
    expect(outcome.cancelledActivities).toEqual([]);
  });

  test('a failed call rejects, and try / catch / finally work', async () => {
    const live = execute(async (ctx) => {
      const seen: string[] = [];
      try {
        await ctx.call('a');
      } catch (error) {
        seen.push((error as Error).message);
      } finally {
        seen.push(await ctx.call('cleanup'));
      }
      return seen.join();
    });
    await cold(live);
    await warm(live, [failed(2, 'boom')]);
    expect((await warm(live, [completed(4, 'clean')])).result).toEqual({ kind: 'completed', output: 'boom,clean' });
  });

  test('async generators and helpers of helpers run as they would in plain code', async () => {
    const live = execute(async (ctx) => {
      async function* numbers() {
        yield await ctx.call('a');
        yield await ctx.call('b');
      }
      const seen: string[] = [];
      for await (const n of numbers()) seen.push(n);
      return seen.join();
    });
    await cold(live);
    await warm(live, [completed(2, '1')]);
    expect((await warm(live, [completed(4, '2')])).result).toEqual({ kind: 'completed', output: '1,2' });
  });

  test('R:CA-01 continue-as-new waits for ever and is no foreign await', async () => {
    const live = execute(async (ctx) => ctx.continueAsNew('next'));
    expect((await cold(live)).result).toEqual({ kind: 'continuedAsNew', input: 'next', version: null });
  });

  test('C-34 two executions interleave without meeting', async () => {
    const code = (name: string) => async (ctx: Context) => `${await ctx.call(name)}${await ctx.call(name)}`;
    const [a, b] = [execute(code('a'), 'a'), execute(code('b'), 'b')];
    await Promise.all([cold(a), cold(b)]);
    await Promise.all([warm(a, [completed(2, '1', 'a')]), warm(b, [completed(2, '2', 'b')])]);
    const [x, y] = await Promise.all([warm(a, [completed(4, '1', 'a')]), warm(b, [completed(4, '2', 'b')])]);
    expect([x.result, y.result]).toEqual([
      { kind: 'completed', output: '11' },
      { kind: 'completed', output: '22' },
    ]);
  });
});

describe('what is not durable is found and named', () => {
  const cases: [string, (ctx: Context) => Promise<string>][] = [
    ['a timer', async () => String(await sleep(1))],
    ['a file', async () => (await readFile('package.json', 'utf8')).slice(0, 1)],
    ['web crypto', async () => String((await crypto.subtle.digest('SHA-256', new Uint8Array(1))).byteLength)],
    ['nothing at all', () => new Promise<string>(() => {})],
    ['a race with a sleep', async (ctx) => String(await Promise.race([ctx.call('a'), sleep(1)]))],
    ['fetch', async () => String((await fetch('http://127.0.0.1:59321/')).status)],
  ];

  test.each(cases)('awaiting %s aborts the turn with the place in the code', async (_name, code) => {
    const turn = cold(execute(code));
    await expect(turn).rejects.toMatchObject({ name: 'ForeignAwaitError', orchestration: 'Async', instanceId: 'x' });
  });

  test('the place is the line that started it', async () => {
    await expect(cold(execute(async () => String(await sleep(1))))).rejects.toThrow(/async-driver\.test/);
  });

  test('a durable promise of another instance is refused', async () => {
    let shared: Promise<string> | undefined;
    const owner = execute(async (ctx) => (shared ??= ctx.call('a')), 'owner');
    await cold(owner);
    const thief = execute(async (ctx) => {
      await Promise.race([shared, ctx.call('own')]);
      return ctx.call('next');
    }, 'thief');
    await cold(thief);
    await warm(owner, [completed(2, 'A', 'owner')]);
    // The thief went on inside the owner's turn; its own next turn reports it.
    await expect(warm(thief, [completed(2, 'own', 'thief')])).rejects.toThrow(/outside its own turn/);
  });
});

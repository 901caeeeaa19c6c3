import { describe, expect, test } from '@jest/globals';
import type { RetryPolicy } from '../../../src/runtime/generator/scheduled-task.js';
import type { Backoff } from '../../../src/runtime/generator/retry.js';
import {
  DEFAULT_BACKOFF,
  DEFAULT_MAX_ATTEMPTS,
  namedBackoff,
  retryDelayMs,
} from '../../../src/runtime/generator/retry.js';
import type { TraceRecord } from '../../../src/runtime/tracing/trace-record.js';
import { generatorSimulation, generatorTurn, runToEnd } from '../../support/generator-turns.js';
import { message, started } from '../../support/history-builder.js';
import { ok, scripted } from '../../support/script.js';
import { Simulation } from '../../support/simulation.js';
import { kinds, outputOf, runTurn } from '../../support/turns.js';

const delays = (backoff: Backoff, attempts: readonly number[]) => attempts.map((n) => retryDelayMs(backoff, n));

describe('delays between attempts', () => {
  test('R:RT-01 the default is three attempts, 100 ms doubling to 30 s', () => {
    expect(DEFAULT_MAX_ATTEMPTS).toBe(3);
    expect(delays(DEFAULT_BACKOFF, [1, 2, 3, 9, 10])).toEqual([100, 200, 400, 25_600, 30_000]);
  });
  test('R:RT-04 none', () => {
    expect(delays({ kind: 'none' }, [1, 2, 1000])).toEqual([0, 0, 0]);
  });
  test('R:RT-05 fixed', () => {
    expect(delays({ kind: 'fixed', delayMs: 1000 }, [1, 2, 3])).toEqual([1000, 1000, 1000]);
    expect(delays({ kind: 'fixed', delayMs: 0 }, [1, 2])).toEqual([0, 0]);
  });
  test('R:RT-06 linear', () => {
    expect(delays({ kind: 'linear', baseMs: 100, maxMs: 250 }, [1, 2, 3])).toEqual([100, 200, 250]);
    expect(delays({ kind: 'linear', baseMs: 0, maxMs: 250 }, [1, 2])).toEqual([0, 0]);
  });
  test('R:RT-07 exponential', () => {
    const exponential = (baseMs: number, multiplier: number): Backoff => {
      return { kind: 'exponential', baseMs, multiplier, maxMs: 10_000 };
    };
    expect(delays(exponential(100, 3), [1, 2, 3])).toEqual([100, 300, 900]);
    expect(delays(exponential(100, 1), [1, 2, 99])).toEqual([100, 100, 100]);
    expect(delays(exponential(100, 2), [5000])).toEqual([10_000]);
    expect(delays(exponential(0, 2), [1, 5000])).toEqual([0, 0]);
  });
  test.each([
    [undefined, DEFAULT_BACKOFF],
    ['exponential', DEFAULT_BACKOFF],
    ['fixed', { kind: 'fixed', delayMs: 1000 }],
    ['linear', { kind: 'linear', baseMs: 100, maxMs: 30_000 }],
    ['any other word', { kind: 'linear', baseMs: 100, maxMs: 30_000 }],
  ])('the word %p', (word, backoff) => {
    expect(namedBackoff(word)).toEqual(backoff);
  });
});

/** Runs an activity that fails a number of times. */
function attempts(failures: number, retry: RetryPolicy): { events: string[]; output: unknown } {
  let made = 0;
  const { sim, output } = runToEnd(
    function* (ctx): Generator<unknown, unknown, unknown> {
      try {
        return yield ctx.scheduleActivityWithRetry('flaky', { x: 1 }, retry);
      } catch (error) {
        return `gave up: ${(error as Error).message}`;
      }
    },
    { answer: () => (++made <= failures ? new Error(`no ${made}`) : '"yes"') },
  );
  return { events: sim.history.map(({ kind }) => kind), output };
}
const count = (events: readonly string[], kind: string) => events.filter((event) => event === kind).length;

describe('activities with retry', () => {
  test.each([
    ['R:RT-08 the first attempt succeeds', 0, { maxAttempts: 3 }, 'yes', 1, 0],
    ['R:RT-09 R:RT-17 two fail', 2, { maxAttempts: 3 }, 'yes', 3, 2],
    ['R:RT-10 all fail', 3, { maxAttempts: 3 }, 'gave up: no 3', 3, 2],
    ['R:RT-02 R:RT-11 one attempt', 1, { maxAttempts: 1 }, 'gave up: no 1', 1, 0],
    ['R:RT-03 linear', 1, { maxAttempts: 2, backoff: 'linear' }, 'yes', 2, 1],
  ])('%s', (_what, failures, retry, output, activities, timers) => {
    const run = attempts(failures, retry);
    expect(run.output).toBe(output);
    expect(count(run.events, 'ActivityScheduled')).toBe(activities);
    expect(count(run.events, 'TimerCreated')).toBe(timers);
  });

  test('R:RT-09 the pauses have the lengths of the policy', () => {
    const sim = generatorSimulation(function* (ctx): Generator<unknown, unknown, unknown> {
      return yield ctx.scheduleActivityWithRetry('A', 1, { maxAttempts: 3 });
    });
    sim.start();
    sim.turn(message.activityFailed(2));
    sim.turn(message.timerFired(4));
    sim.turn(message.activityFailed(6));
    const waits = sim.history.flatMap((event) => {
      return event.kind === 'TimerCreated' ? [event.fireAtMs - event.timestampMs] : [];
    });
    expect(waits).toEqual([100, 200]);
  });

  test('R:RT-12 without backoff there are no timers', () => {
    const sim = new Simulation({
      driver: scripted(function* (s) {
        return ok(yield* s.retried('A', { maxAttempts: 3, backoff: { kind: 'none' } }));
      }),
      warm: true,
      verify: true,
    });
    sim.start();
    sim.turn(message.activityFailed(2));
    sim.turn(message.activityFailed(4));
    expect(sim.turn(message.activityDone(6, 'r')).result).toEqual({ kind: 'completed', output: 'r' });
    expect(sim.history.map(({ kind }) => kind)).not.toContain('TimerCreated');
  });

  describe('with a limit for an attempt', () => {
    const limited = (retry: RetryPolicy) =>
      function* (ctx: Parameters<Parameters<typeof generatorTurn>[0]>[0]): Generator<unknown, unknown, unknown> {
        try {
          return yield ctx.scheduleActivityWithRetry('A', 1, retry);
        } catch (error) {
          return (error as Error).message;
        }
      };

    test('R:RT-13 R:RT-22 the timer first: the failure is not repeated, the activity cancelled', () => {
      const fn = limited({ maxAttempts: 3, timeoutMs: 0 });
      const first = generatorTurn(fn);
      expect(kinds(first)).toEqual(['ActivityScheduled', 'TimerCreated']);
      const outcome = generatorTurn(fn, { history: first.historyDelta, messages: [message.timerFired(3)] });
      expect(outputOf(outcome)).toBe('"timeout: activity timed out"');
      expect(kinds(outcome)).toEqual(['TimerFired', 'ActivityCancelRequested', 'OrchestrationCompleted']);
      expect(outcome.cancelledActivities).toMatchObject([{ activityId: 2 }]);
    });

    test('R:RT-14 success before the limit', () => {
      const outcome = generatorTurn(limited({ maxAttempts: 3, timeoutMs: 50 }), {
        history: started().activity('A').timer(),
        messages: [message.activityDone(2, '"r"')],
      });
      expect(outputOf(outcome)).toBe('"r"');
      expect(outcome.cancelledActivities).toEqual([]);
    });

    test('R:RT-15 R:RT-18 R:RT-19 an error is repeated, then a slow attempt ends it; late outcomes disturb nobody', () => {
      const sim = generatorSimulation(limited({ maxAttempts: 3, timeoutMs: 50 }));
      sim.start();
      sim.turn(message.activityFailed(2, 'first'));
      sim.turn(message.timerFired(3)); // the limit of the first attempt, long lost
      sim.turn(message.timerFired(5));
      const history = sim.history.map(({ kind }) => kind);
      expect(history.slice(-2)).toEqual(['ActivityScheduled', 'TimerCreated']);
      sim.crash();
      const last = sim.turn(message.timerFired(sim.history.at(-1)?.eventId ?? 0));
      expect(last.result).toEqual({ kind: 'completed', output: '"timeout: activity timed out"' });
    });

    test.each([
      [{ maxAttempts: 1, timeoutMs: 5, totalTimeoutMs: 70 }, 70],
      [{ maxAttempts: 1, totalTimeoutMs: 70 }, 70],
      [{ maxAttempts: 1, timeoutMs: 5 }, 5],
    ])('of both spellings totalTimeoutMs wins: %j', (retry, limitMs) => {
      const [timer] = generatorTurn(limited(retry), { nowMs: 0 }).orchestratorItems;
      expect(timer).toMatchObject({ kind: 'TimerFired', fireAtMs: limitMs });
    });
  });

  test('R:RT-21 all attempts of the session variant run on the same session', () => {
    const { sim, output } = runToEnd(
      function* (ctx): Generator<unknown, unknown, unknown> {
        try {
          yield ctx.scheduleActivityWithRetryOnSession('A', 1, { maxAttempts: 2 }, 's');
        } catch (error) {
          return (error as Error).message;
        }
      },
      { answer: () => new Error('no') },
    );
    expect(output).toBe('no');
    expect(sim.history.filter(({ kind }) => kind === 'ActivityScheduled')).toMatchObject([
      { sessionId: 's' },
      { sessionId: 's' },
    ]);
  });

  test('R:RT-20 several retries at once are independent, inside a join and a race', () => {
    const { output } = runToEnd(
      function* (ctx): Generator<unknown, unknown, unknown> {
        const retry = { maxAttempts: 2 };
        return [
          yield ctx.all([
            ctx.scheduleActivityWithRetry('good', 1, retry),
            ctx.scheduleActivityWithRetry('bad', 2, retry),
          ]),
          yield ctx.race(ctx.scheduleActivityWithRetry('bad', 3, retry), ctx.waitForEvent('e')),
        ];
      },
      { answer: (name, input) => (name === 'bad' ? new Error(`no ${input}`) : input) },
    );
    expect(output).toEqual([[{ ok: 1 }, { err: 'no 2' }], { index: 0, value: 'no 3' }]);
  });

  test('a retry that loses a race drops what it is at, the pause included', () => {
    const sim = generatorSimulation(function* (ctx): Generator<unknown, unknown, unknown> {
      const raced = yield ctx.race(ctx.scheduleActivityWithRetry('A', 1, { maxAttempts: 9 }), ctx.waitForEvent('e'));
      yield ctx.scheduleTimer(1);
      return raced;
    });
    sim.start();
    sim.turn(message.activityFailed(2));
    const lost = sim.turn(message.raised('e', '"go"'));
    expect(kinds(lost)).toEqual(['ExternalEvent', 'TimerCreated']);
    // The pause fires later and starts no attempt.
    expect(kinds(sim.turn(message.timerFired(5)))).toEqual(['TimerFired']);
  });

  test('a repeated attempt is traced as a warning, without payloads', () => {
    const traces: TraceRecord[] = [];
    generatorTurn(
      function* (ctx) {
        yield ctx.scheduleActivityWithRetry('A', 'secret', { maxAttempts: 2 });
      },
      {
        history: started().activity('A', '"secret"'),
        messages: [message.activityFailed(2, 'secret')],
      },
      traces,
    );
    expect(traces).toMatchObject([{ level: 'warn', message: "activity 'A' failed in attempt 1 of 2, retrying" }]);
  });

  test('a policy without attempts panics in the engine, too', () => {
    const outcome = runTurn(function* (s) {
      return ok(yield* s.retried('A', { maxAttempts: 0, backoff: { kind: 'none' } }));
    });
    expect(outcome.metadata.output).toBe('orchestration panicked: max_attempts must be at least 1');
  });
});

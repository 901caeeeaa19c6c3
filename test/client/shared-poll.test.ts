import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import type { Wait } from '../../src/client/shared-poll.js';
import { SharedPoll } from '../../src/client/shared-poll.js';

async function ticks(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

function pollOn(answers: Map<string, number>) {
  const clock = new FakeClock();
  const startedAtMs = clock.nowMs();
  const reads: { atMs: number; queries: readonly string[] }[] = [];
  let waiting = 0;
  const poll = new SharedPoll<string, number | undefined>(
    clock,
    async (queries) => {
      reads.push({ atMs: clock.nowMs() - startedAtMs, queries });
      return queries.map((query) => answers.get(query));
    },
    () => {
      waiting += 1;
      return () => (waiting -= 1);
    },
  );
  const wait = (query: string, options: Partial<Wait<string, number | undefined, number>> = {}) =>
    poll.wait<number>({
      query,
      accept: (answer) => answer,
      timeoutMs: 1_000,
      timedOut: () => new Error(`timed out: ${query}`),
      firstStepMs: 5,
      maxStepMs: 100,
      ...options,
    });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      await ticks();
    }
  };
  return { poll, clock, reads, wait, pass, waiting: () => waiting };
}

describe('shared poll', () => {
  test('R:CL-09 looks at once, then after 5, 10, 20, 40, 80, 100, 100 ms', async () => {
    const answers = new Map<string, number>();
    const { reads, wait, pass, clock } = pollOn(answers);
    const answer = wait('a', { timeoutMs: Infinity });
    await ticks();
    await pass(400);
    expect(reads.map(({ atMs }) => atMs)).toEqual([0, 5, 15, 35, 75, 155, 255, 355]);
    answers.set('a', 7);
    await pass(100);
    expect(await answer).toBe(7);
    expect(clock.sleeping).toBe(0);
  });

  test('a hundred waiters cost one statement per look', async () => {
    const answers = new Map<string, number>();
    const { reads, wait, pass } = pollOn(answers);
    const waits = Array.from({ length: 100 }, (_, i) => wait(`q${i}`));
    await ticks();
    await pass(20);
    expect(reads).toHaveLength(3);
    expect(reads.every(({ queries }) => queries.length === 100)).toBe(true);
    for (let i = 0; i < 100; i++) answers.set(`q${i}`, i);
    await pass(20);
    expect(await Promise.all(waits)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  test('many who come one after the other share looks that are 5 ms apart', async () => {
    const { reads, wait, pass } = pollOn(new Map());
    const waits = [];
    for (let i = 0; i < 50; i++) {
      waits.push(wait(`q${i}`, { timeoutMs: 60 }).catch(() => undefined));
      await pass(1);
    }
    expect(reads.length).toBeLessThanOrEqual(50 / 5 + 1);
    await pass(100);
    await Promise.all(waits);
  });

  test('a crowd that came one after the other and has waited for a while costs two looks in a second', async () => {
    const answers = new Map<string, number>();
    const { reads, wait, pass } = pollOn(answers);
    const waits = [];
    for (let i = 0; i < 40; i++) {
      waits.push(wait(`q${i}`, { timeoutMs: Infinity }));
      await pass(3);
    }
    await pass(600);
    reads.length = 0;
    await pass(1_000);
    expect(reads).toHaveLength(2);
    for (let i = 0; i < 40; i++) answers.set(`q${i}`, i);
    await pass(500);
    expect(await Promise.all(waits)).toHaveLength(40);
  });

  test('who asks for an interval has it in a crowd, too, and shares its looks', async () => {
    const { reads, wait, pass } = pollOn(new Map());
    const outcomes = [];
    for (let i = 0; i < 40; i++) {
      outcomes.push(wait(`q${i}`, { timeoutMs: 1_500, firstStepMs: 100, maxStepMs: 100 }).catch(() => undefined));
      await pass(3);
    }
    await pass(200);
    reads.length = 0;
    await pass(1_000);
    expect(reads).toHaveLength(10);
    await pass(1_000);
    await Promise.all(outcomes);
  });

  test('a time-out of 0 looks once; a deadline is kept to the millisecond', async () => {
    const { reads, wait, pass } = pollOn(new Map());
    const once = wait('once', { timeoutMs: 0 });
    await expect(once).rejects.toThrow('timed out: once');
    expect(reads).toHaveLength(1);
    const later = wait('later', { timeoutMs: 42 });
    const outcome = expect(later).rejects.toThrow('timed out: later');
    await ticks();
    await pass(41);
    expect(reads.at(-1)?.atMs).toBeLessThan(42);
    await pass(1);
    await outcome;
    expect(reads.at(-1)?.atMs).toBe(42);
  });

  test('a hint is followed at once, by whom it concerns', async () => {
    const answers = new Map<string, number>();
    const { poll, reads, wait, pass } = pollOn(answers);
    const first = wait('a', { timeoutMs: Infinity, firstStepMs: 10_000, maxStepMs: 10_000 });
    const second = wait('b', { timeoutMs: Infinity, firstStepMs: 10_000, maxStepMs: 10_000 });
    second.catch(() => undefined);
    await ticks();
    await pass(3);
    answers.set('a', 1);
    poll.hint(['a']);
    await ticks();
    expect(await first).toBe(1);
    expect(reads.at(-1)).toEqual({ atMs: 3, queries: ['a'] });
  });

  test('of more waiters than a statement asks for each has its turn, and those with a hint have it first', async () => {
    const answers = new Map<string, number>();
    const { poll, reads, wait, pass } = pollOn(answers);
    const stop = new AbortController();
    const options = { timeoutMs: Infinity, firstStepMs: 5, maxStepMs: 5 };
    const waits = Array.from({ length: 6_000 }, (_, i) => wait(`q${i}`, { ...options, signal: stop.signal }));
    const ended = Promise.allSettled(waits);
    const late = wait('late', { timeoutMs: 12 });
    const outcome = expect(late).rejects.toThrow('timed out: late');
    await ticks();
    await pass(25);
    expect(new Set(reads.flatMap(({ queries }) => queries)).size).toBe(6_001);
    await outcome;
    answers.set('q1', 1);
    poll.hint((query) => query === 'q1');
    await ticks();
    expect(await waits[1]).toBe(1);
    // More than ten would be a leak to Node.js, which warns of them.
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort();
    expect((await ended).filter(({ status }) => status === 'rejected')).toHaveLength(5_999);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  test('the last wait for a signal takes the listener away', async () => {
    const answers = new Map([['a', 1]]);
    const { wait } = pollOn(answers);
    const { signal } = new AbortController();
    expect(await Promise.all([wait('a', { signal }), wait('a', { signal })])).toEqual([1, 1]);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('a hint that comes while its waiter is asked for is followed by another look', async () => {
    const clock = new FakeClock();
    const reads: ((answers: readonly (number | undefined)[]) => void)[] = [];
    const poll = new SharedPoll<string, number | undefined>(clock, () => new Promise((resolve) => reads.push(resolve)));
    const answer = poll.wait<number>({
      query: 'a',
      accept: (value) => value,
      timeoutMs: Infinity,
      timedOut: () => new Error('timed out'),
      firstStepMs: 10_000,
      maxStepMs: 10_000,
    });
    await ticks();
    poll.hint(() => true);
    reads[0]?.([undefined]);
    await ticks();
    reads[1]?.([1]);
    expect(await answer).toBe(1);
  });

  describe('while the store is silent', () => {
    const silentPoll = () => {
      const clock = new FakeClock();
      const reads: ((answers: readonly (number | undefined)[]) => void)[] = [];
      const poll = new SharedPoll<string, number | undefined>(
        clock,
        () => new Promise((resolve) => reads.push(resolve)),
      );
      const ended: string[] = [];
      const wait = (query: string, timeoutMs: number) =>
        void poll
          .wait<number>({
            query,
            accept: (value) => value,
            timeoutMs,
            timedOut: () => new Error('timed out'),
            firstStepMs: 5,
            maxStepMs: 100,
          })
          .then(
            (value) => ended.push(`${query}: ${value}`),
            (error: Error) => ended.push(`${query}: ${error.message}`),
          );
      const pass = async (ms: number) => {
        clock.advance(ms);
        await ticks();
      };
      return { clock, reads, wait, pass, ended };
    };

    test('each wait ends at its deadline, by one timer for all; one with a time-out of 0 waits for its look', async () => {
      const { clock, reads, wait, pass, ended } = silentPoll();
      wait('late', 2_000);
      wait('early', 1_000);
      wait('once', 0);
      wait('for ever', Infinity);
      await ticks();
      await pass(999);
      expect({ ended, sleeping: clock.sleeping, reads: reads.length }).toEqual({ ended: [], sleeping: 1, reads: 1 });
      await pass(1);
      expect(ended).toEqual(['early: timed out']);
      await pass(1_000);
      expect(ended).toEqual(['early: timed out', 'late: timed out']);
      await pass(10_000);
      reads[0]?.([1, 2, undefined, 4]);
      await ticks();
      expect(ended.slice(2)).toEqual(['once: timed out', 'for ever: 4']);
      expect(clock.sleeping).toBe(0);
    });

    test('who comes meanwhile waits for a look of its own, but only a moment beyond the deadline', async () => {
      const { wait, pass, ended } = silentPoll();
      wait('for ever', Infinity);
      await ticks();
      wait('meanwhile', 300);
      await ticks();
      await pass(399);
      expect(ended).toEqual([]);
      await pass(1);
      expect(ended).toEqual(['meanwhile: timed out']);
    });

    test('a last look that begins at the deadline has a moment for its answer', async () => {
      const { reads, wait, pass, ended } = silentPoll();
      wait('a', 3);
      await ticks();
      reads[0]?.([undefined]);
      await ticks();
      await pass(3);
      expect(reads).toHaveLength(2);
      await pass(99);
      expect(ended).toEqual([]);
      await pass(1);
      expect(ended).toEqual(['a: timed out']);
    });
  });

  test('an error of the store rejects those who were asked for, and only them', async () => {
    const clock = new FakeClock();
    let fail = true;
    const poll = new SharedPoll<string, number>(clock, async (queries) => {
      if (fail) throw new Error('down');
      return queries.map(() => 1);
    });
    const wait = () =>
      poll.wait<number>({
        query: 'a',
        accept: (answer) => answer,
        timeoutMs: 100,
        timedOut: () => new Error('timed out'),
        firstStepMs: 5,
        maxStepMs: 5,
      });
    await expect(wait()).rejects.toThrow('down');
    fail = false;
    const again = wait();
    await ticks();
    clock.advance(5);
    expect(await again).toBe(1);
  });

  test('a wait that cannot take its answer is rejected alone, whether it was looked for or told', async () => {
    const answers = new Map([['good', 1]]);
    const { poll, wait, pass } = pollOn(answers);
    const accept = () => {
      throw new Error('unreadable');
    };
    const bad = expect(wait('bad', { accept })).rejects.toThrow('unreadable');
    expect(await wait('good')).toBe(1);
    await bad;
    const told = expect(
      wait('told', { accept: (answer) => (answer === undefined ? undefined : accept()) }),
    ).rejects.toThrow('unreadable');
    await ticks();
    poll.tell(new Map([['told', 2]]));
    await told;
    const later = wait('later');
    answers.set('later', 3);
    await pass(25);
    expect(await later).toBe(3);
  });

  test('who was told, or gave up, is not looked for any more; the others keep their times', async () => {
    const { poll, reads, wait, pass } = pollOn(new Map());
    const stop = new AbortController();
    const told = wait('told', { timeoutMs: 12 });
    const stopped = wait('stopped', { timeoutMs: Infinity, signal: stop.signal }).catch(() => 'stopped');
    const late = wait('late', { timeoutMs: 90, firstStepMs: 80, maxStepMs: 80 }).catch(() => 'late');
    await ticks();
    poll.tell(new Map([['told', 1]]));
    stop.abort();
    expect([await told, await stopped]).toEqual([1, 'stopped']);
    await pass(100);
    expect(reads.map(({ atMs, queries }) => [atMs, queries])).toEqual([
      [0, ['told', 'stopped', 'late']],
      [80, ['late']],
      [90, ['late']],
    ]);
    expect(await late).toBe('late');
  });

  test('hints are subscribed to only while somebody waits', async () => {
    const answers = new Map([['a', 1]]);
    const { wait, waiting } = pollOn(answers);
    expect(waiting()).toBe(0);
    const answer = wait('a');
    expect(waiting()).toBe(1);
    await answer;
    await ticks();
    expect(waiting()).toBe(0);
  });
});

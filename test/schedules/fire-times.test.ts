import { describe, expect, test } from '@jest/globals';
import { cronTimes, type FireTimes, intervalTimes, lastFireTimes } from '../../src/schedule/fire-times.js';

const HOUR_MS = 3_600_000;

function next(times: FireTimes, after: string, count: number): string[] {
  const found: string[] = [];
  let at: number | null = Date.parse(after);
  while (found.length < count) {
    at = times.nextAfter(at);
    if (at === null) break;
    found.push(new Date(at).toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
}

/** Each zone's two changes: what a clock there shows, and what that is in UTC. */
describe('a time of day at a change of the clocks', () => {
  test.each([
    // 02:30 does not exist on 29 March: the clocks go from 02:00 to 03:00.
    [
      'Europe/Berlin',
      '30 2 * * *',
      '2026-03-28T00:00Z',
      ['2026-03-28T01:30Z', '2026-03-29T01:30Z', '2026-03-30T00:30Z'],
    ],
    // 02:30 comes twice on 25 October.
    [
      'Europe/Berlin',
      '30 2 * * *',
      '2026-10-24T00:00Z',
      ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z'],
    ],
    // 02:30 does not exist on 8 March.
    [
      'America/New_York',
      '30 2 * * *',
      '2026-03-07T00:00Z',
      ['2026-03-07T07:30Z', '2026-03-08T07:30Z', '2026-03-09T06:30Z'],
    ],
    // 01:30 comes twice on 1 November.
    [
      'America/New_York',
      '30 1 * * *',
      '2026-10-31T00:00Z',
      ['2026-10-31T05:30Z', '2026-11-01T05:30Z', '2026-11-02T06:30Z'],
    ],
  ])('%s, %s after %s: once a day, and none is left out', (zone, cron, after, expected) => {
    expect(next(cronTimes(cron, zone), after, expected.length)).toEqual(expected);
  });

  test.each([
    ['Europe/Berlin', '2026-03-28T12:00Z', '2026-03-30T12:00Z'],
    ['Europe/Berlin', '2026-10-24T12:00Z', '2026-10-26T12:00Z'],
    ['America/New_York', '2026-03-07T12:00Z', '2026-03-09T12:00Z'],
    ['America/New_York', '2026-10-31T12:00Z', '2026-11-02T12:00Z'],
    // Clocks that are changed by half an hour, and one that never are.
    ['Australia/Lord_Howe', '2026-04-04T00:00Z', '2026-04-06T00:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T00:00Z', '2026-10-05T00:00Z'],
    ['Asia/Kolkata', '2026-03-28T12:00Z', '2026-03-30T12:00Z'],
  ])('%s from %s: an expression of every hour fires every half an hour in the world', (zone, from, until) => {
    const times = cronTimes('*/30 * * * *', zone);
    const steps: number[] = [];
    for (let at = Date.parse(from); at < Date.parse(until);) {
      const following = times.nextAfter(at) as number;
      steps.push(following - at);
      at = following;
    }
    expect(new Set(steps)).toEqual(new Set([HOUR_MS / 2]));
    expect(steps).toHaveLength(96);
  });

  test('an expression of every hour on one day of the week keeps to the days of the zone', () => {
    // The Sunday of 25 October has 25 hours in Berlin, that of 29 March 23.
    const perDay = (from: string) => next(cronTimes('0 * * * 0', 'Europe/Berlin'), from, 26);
    expect(perDay('2026-10-24T12:00Z').filter((at) => at < '2026-10-26')).toHaveLength(25);
    expect(perDay('2026-03-28T12:00Z').filter((at) => at < '2026-03-30')).toHaveLength(23);
  });
});

describe('fire times', () => {
  test('are strictly after the moment asked about, also between two seconds', () => {
    const times = cronTimes('0 0 12 * * *', 'UTC');
    expect(next(times, '2026-01-01T12:00:00.000Z', 1)).toEqual(['2026-01-02T12:00Z']);
    expect(next(times, '2026-01-01T11:59:59.999Z', 1)).toEqual(['2026-01-01T12:00Z']);
    expect(next(cronTimes('* * * * *', 'UTC'), '2026-01-01T11:59:59.999Z', 1)).toEqual(['2026-01-01T12:00Z']);
  });

  test('of an interval are counted from its anchor, whenever it is asked', () => {
    const times = intervalTimes(10_000, 1_000);
    expect([0, 1_000, 10_999, 11_000, 15_000, 1_000_000].map((at) => times.nextAfter(at))).toEqual([
      11_000, 11_000, 11_000, 21_000, 21_000, 1_001_000,
    ]);
  });

  test.each([
    ['Europe/Berlin', '2026-10-25T01:00Z'],
    ['Europe/Berlin', '2026-03-29T01:00Z'],
    ['America/New_York', '2026-11-01T06:00Z'],
    ['America/New_York', '2026-03-08T07:00Z'],
    ['Africa/Casablanca', '2026-03-22T02:00Z'],
    // Half an hour back, and forward.
    ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    // A day that was left out.
    ['Pacific/Apia', '2011-12-30T10:00Z'],
  ])(
    'around a change of the clocks of %s at %s: whenever it is asked, the next one is the next one',
    (zone, change) => {
      const changeMs = Date.parse(change);
      for (const cron of [
        '30 2 * * *',
        '45 1 * * *',
        '0,30 1-3 * * *',
        '*/20 1-3 * * *',
        '15 0-22 * * *',
        '0 0 * * *',
      ]) {
        const times = cronTimes(cron, zone);
        const all: number[] = [];
        let at = times.nextAfter(changeMs - 48 * HOUR_MS);
        for (; at !== null && at < changeMs + 72 * HOUR_MS; at = times.nextAfter(at)) all.push(at);
        expect(all).toEqual([...new Set(all)].sort((a, b) => a - b));
        for (let ms = changeMs - 26 * HOUR_MS; ms < changeMs + 26 * HOUR_MS; ms += 420_000) {
          expect([cron, ms, times.nextAfter(ms)]).toEqual([cron, ms, all.find((fireMs) => fireMs > ms)]);
        }
      }
    },
  );

  test('that never come are none, and what is no expression is refused', () => {
    expect(cronTimes('0 0 30 2 *', 'UTC').nextAfter(0)).toBeNull();
    expect(() => cronTimes('every day', 'UTC')).toThrow();
  });

  test('the last ones up to a moment, after seconds or years without anybody', () => {
    const of = (cron: string, from: string, to: string, count: number) =>
      lastFireTimes(cronTimes(cron, 'UTC'), Date.parse(from), Date.parse(to), count).map((at) =>
        new Date(at).toISOString().slice(0, 19),
      );
    expect(of('* * * * * *', '2020-01-01T00:00:00Z', '2026-01-01T00:00:01.5Z', 2)).toEqual([
      '2026-01-01T00:00:00',
      '2026-01-01T00:00:01',
    ]);
    expect(of('0 0 1 1 *', '2020-01-01T00:00:00Z', '2026-06-01T00:00:00Z', 3)).toEqual([
      '2024-01-01T00:00:00',
      '2025-01-01T00:00:00',
      '2026-01-01T00:00:00',
    ]);
    // Thousands of them, and none in the last two days.
    expect(of('* 8-18 * * 1-5', '2026-12-21T08:00:00Z', '2027-01-03T12:00:00Z', 2)).toEqual([
      '2027-01-01T18:58:00',
      '2027-01-01T18:59:00',
    ]);
    expect(of('0 * * * *', '2026-01-01T10:00:00Z', '2026-01-01T12:30:00Z', 100)).toHaveLength(3);
    expect(of('0 * * * *', '2026-01-01T10:00:00Z', '2026-01-01T10:30:00Z', 100)).toEqual(['2026-01-01T10:00:00']);
  });
});

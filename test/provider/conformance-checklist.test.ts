import { describe, expect, test } from '@jest/globals';
import { conformanceGroups, describeProvider } from '../../src/conformance/index.js';
import type { ProviderUnderTest, TestRunner } from '../../src/conformance/index.js';

/** How many lines each group of the checklist has (provider.md section 4). */
const lines: Readonly<Record<string, number>> = {
  AT: 4,
  BD: 4,
  CA: 16,
  CF: 20,
  CS: 7,
  DE: 13,
  EH: 5,
  IC: 4,
  IL: 11,
  KV: 35,
  LE: 13,
  LP: 5,
  MG: 7,
  MX: 5,
  PM: 9,
  PR: 4,
  QS: 8,
  SE: 33,
  TF: 10,
  ST: 6,
  XR: 16,
};
/**
 * Ours, which native's contract does not have: wake-ups in one process, work that a turn locks for
 * its process, and turns that go on without a fetch.
 */
const beyondTheChecklist = [
  ...['WK-1', 'WK-2', 'WK-3', 'OW-1', 'OW-2', 'OW-3', 'OW-4', 'OW-5', 'OW-6'],
  ...['DT-1', 'DT-2', 'DT-3', 'DT-4', 'DT-5', 'DT-6', 'DT-7', 'DT-8'],
];
/** For providers that wait for work inside a fetch; the contract knows none. */
const longPollingOnly = ['LP-2', 'LP-5'];

const unusedStorage = (): Promise<ProviderUnderTest> => Promise.reject(new Error('nothing is opened here'));

/** A runner that only notes what it was given. */
function notingRunner() {
  const run: string[] = [];
  const skipped: string[] = [];
  const note = (title: string) => run.push(title);
  const runner: TestRunner = {
    describe: (_name, define) => define(),
    test: Object.assign(note, { skip: (title: string) => skipped.push(title) }),
    expect,
  };
  return { run, skipped, runner };
}

describe('the conformance suite', () => {
  const ids = conformanceGroups.flatMap(({ checks }) => checks.map(({ id }) => id));

  test('has every line of the checklist, and no id twice', () => {
    const expected = Object.entries(lines).flatMap(([group, count]) =>
      Array.from({ length: count }, (_, index) => `${group}-${index + 1}`),
    );
    // A part of a line, as in `XR-9/large`, stands beside the line itself.
    const whole = ids.filter((id) => !id.includes('/'));
    expect([...whole].sort()).toEqual(
      [...expected.filter((id) => !longPollingOnly.includes(id)), ...beyondTheChecklist].sort(),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const part of ids.filter((id) => id.includes('/'))) expect(whole).toContain(part.split('/')[0]);
  });

  test('declares each check with its id in the title, and prints what it skips and why', () => {
    const { run, skipped, runner } = notingRunner();
    const printed: string[] = [];
    describeProvider({
      name: 'some provider',
      open: unusedStorage,
      skips: { 'XR-4': { trap: 'T-16', reason: 'there is no native worker' } },
      runner,
      print: (text) => printed.push(text),
    });
    expect(run).toHaveLength(ids.length - 1);
    for (const id of ids.filter((one) => one !== 'XR-4')) {
      expect(run.filter((title) => title.startsWith(`P:${id} `))).toHaveLength(1);
    }
    expect(skipped).toHaveLength(1);
    expect(skipped[0]).toMatch(/^P:XR-4 .*T-16: there is no native worker/);
    expect(printed.join()).toMatch(/some provider[^]*P:XR-4 +T-16 +there is no native worker/);
  });

  test('a skip of a check that does not exist is refused', () => {
    const { runner } = notingRunner();
    const describeIt = () =>
      describeProvider({
        name: 'some provider',
        open: unusedStorage,
        skips: { 'AT-99': { trap: '-', reason: 'a slip' } },
        runner,
      });
    expect(describeIt).toThrow(new RangeError('no such conformance check: AT-99'));
  });
});

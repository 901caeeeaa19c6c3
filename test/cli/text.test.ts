import { expect, test } from '@jest/globals';
import { durationText } from '../../src/cli/output/text.js';

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_300, '1.3 s'],
  [59_949, '59.9 s'],
  [119_000, '1 min 59 s'],
  [90_000_000, '1 d 1 h'],
])('%d ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

// Timers are stamped some ms after the moment that they count from.
test.each([
  [4_999, '5 s'],
  [59_960, '1 min'],
  [3_599_999, '1 h'],
  [86_399_998, '1 d'],
  [604_799_998, '7 d'],
])('%d ms, almost the next unit, is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

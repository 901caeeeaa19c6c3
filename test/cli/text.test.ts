import { PassThrough, Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { Printer } from '../../src/cli/output/printer.js';
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

test.each([
  [undefined, ['ID      STATUS   CREATED  NOTE', 'a-long  Running  today    a remark that goes on']],
  [60, ['ID      STATUS   CREATED  NOTE', 'a-long  Running  today    a remark that goes on']],
  [34, ['ID      STATUS   NOTE', 'a-long  Running  a remark that go…']],
  [20, ['ID      STATUS', 'a-long  Running']],
  [12, ['ID      STA…', 'a-long  Run…']],
])('a table on a terminal of %s columns leaves out what can be missed, and cuts the rest', async (columns, lines) => {
  let written = '';
  const stdout = new PassThrough().on('data', (chunk: Buffer) => (written += chunk.toString()));
  const io = {
    stdin: Readable.from([]),
    stdout: Object.assign(stdout, { isTTY: columns !== undefined, columns }),
    stderr: new PassThrough(),
    env: {},
    cwd: '/',
    signal: new AbortController().signal,
  };
  const headings = ['ID', 'STATUS', 'CREATED', 'NOTE'];
  const rows = [['a-long', 'Running', 'today', 'a remark that goes on']];
  new Printer(io, false, false).table(headings, rows, { canMiss: ['CREATED', 'NOTE'] });
  await new Promise((resolve) => setImmediate(resolve));
  expect(written.trimEnd().split('\n')).toEqual(lines);
});

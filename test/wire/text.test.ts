import { describe, expect, test } from '@jest/globals';
import { isStorable, toStorable, utf8Length } from '../../src/base/text.js';
import { bytesOfOversized } from '../../src/wire/oversized-text.js';

describe('text that PostgreSQL can store', () => {
  test.each([
    ['plain', 'plain'],
    ['a\u0000b', 'a\uFFFDb'],
    ['\uD800', '\uFFFD'],
    ['x\uDC00y', 'x\uFFFDy'],
    ['😀', '😀'],
    ['\\u0000', '\\u0000'],
  ])('P:T-3 %j is stored as %j', (given, stored) => {
    expect(toStorable(given)).toBe(stored);
    expect(isStorable(given)).toBe(given === stored);
  });

  test('sizes are bytes of UTF-8', () => {
    expect(utf8Length('é😀')).toBe(6);
  });
});

describe('a string that is too long for a payload', () => {
  const PIECE = 64 * 1024;

  test.each([
    ['plain', 'x'.repeat(3 * PIECE + 1)],
    ['escapes', '"\n\u0001'.repeat(PIECE)],
    ['a pair on the border of two pieces', `${'x'.repeat(PIECE - 1)}😀${'y'.repeat(PIECE)}`],
    ['halves of pairs on the borders', `${'x'.repeat(PIECE - 1)}\uD800${'y'.repeat(PIECE - 1)}\uDC00\uD83D`],
    ['pairs alone', '😀'.repeat(PIECE)],
  ])('C-24 is measured without its JSON text: %s', (_, text) => {
    expect(bytesOfOversized(text, 1_000)).toBe(utf8Length(JSON.stringify(text)));
  });

  test('what may fit, and what is no string, is left to its JSON text', () => {
    expect(bytesOfOversized('x'.repeat(998), 1_000)).toBeUndefined();
    expect(bytesOfOversized('x'.repeat(999), 1_000)).toBe(1_001);
    expect(bytesOfOversized(['x'.repeat(2_000)], 1_000)).toBeUndefined();
  });
});

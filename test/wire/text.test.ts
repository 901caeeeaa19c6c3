import { describe, expect, test } from '@jest/globals';
import { isStorable, toStorable, utf8Length } from '../../src/base/text.js';

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

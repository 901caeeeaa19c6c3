import { describe, expect, test } from '@jest/globals';
import { assertSchemaName, quoteSchemaName } from '../../src/schema/schema-name.js';

describe('C-17 P:T-1 schema names', () => {
  test.each(['select', 'public', '_x', 'a1', 'x'.repeat(63)])('%s is allowed and quoted', (name) => {
    expect(quoteSchemaName(name)).toBe(`"${name}"`);
  });

  test.each([
    'My-Schema',
    'sel ect',
    'x"y',
    "o'brien",
    'a$$b',
    'a.b',
    'schéma',
    '1abc',
    'Spec_Mixed',
    '',
    'pg_temp',
    'x'.repeat(64),
    'a\n',
  ])('%j is refused with the rule', (name) => {
    expect(() => assertSchemaName(name)).toThrow(RangeError);
    expect(() => assertSchemaName(name)).toThrow(
      /expected \^\[a-z_\]\[a-z0-9_\]\*\$, at most 63 bytes, not starting with pg_/,
    );
  });
});

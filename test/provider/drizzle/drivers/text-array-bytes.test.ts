import { describe, expect, test } from '@jest/globals';
import { textArrayBytes } from '../../../../src/provider/drizzle/drivers/text-array-bytes.js';
import { withClient } from '../../../support/database.js';

describe('text[] in binary form', () => {
  test.each<[string, (string | number | boolean | null)[]]>([
    ['nothing', []],
    ['one empty text', ['']],
    ['what text form has to escape', ['"', '\\', '{a,b}', 'NULL', ' spaced ', '{"a":"\\"b\\""}']],
    ['null among others', ['a', null, 'b']],
    ['text of any width', ['naïve', '漢字', '🎉', 'x'.repeat(100_000)]],
    ['numbers', [1, -2.5]],
  ])('%s arrives as it is', async (_, values) => {
    const { rows } = await withClient((client) =>
      client.query<{ value: string | null }>('select u.value from unnest($1::text[]) with ordinality u (value, n) order by n', [
        textArrayBytes(values),
      ]),
    );
    expect(rows.map(({ value }) => value)).toEqual(values.map((value) => (value === null ? null : String(value))));
  });

  test('an unpaired surrogate is replaced, as in text form; U+0000 is refused by the server', async () => {
    await withClient(async (client) => {
      const { rows } = await client.query('select $1::text[] as texts', [textArrayBytes(['a\ud800b'])]);
      expect(rows).toEqual([{ texts: ['a\ufffdb'] }]);
      await expect(client.query('select $1::text[]', [textArrayBytes(['a\u0000b'])])).rejects.toMatchObject({ code: '22021' });
    });
  });
});

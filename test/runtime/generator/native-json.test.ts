import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { passesUnchanged, readAndWrite, throughNative } from '../../../src/runtime/generator/native-json.js';
import { joinElement, raceValue } from '../../../src/runtime/generator/payload.js';
import type { NativeSdk } from '../../oracle/native.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../../oracle/native.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../../support/database.js';

const element = (text: string): string => JSON.stringify(joinElement({ ok: true, text }));

describe('the short cut for texts that pass as they are', () => {
  const unchanged = [
    '0',
    '7',
    '-1',
    '999999999999999',
    '-999999999999999',
    '""',
    '"a b!#[]~{}/\'"',
    'true',
    'false',
    'null',
  ];
  test.each(unchanged)('%s is read and written without a change, also as an element', (text) => {
    expect(passesUnchanged(text)).toBe(true);
    expect(readAndWrite(text)).toBe(text);
    const element = `{"err":${text}}`;
    expect(readAndWrite(element)).toBe(element);
    expect(joinElement({ ok: false, text })).toEqual(JSON.parse(element));
  });

  test.each([
    '-0',
    '1.0',
    '1e3',
    '01',
    '9007199254740993',
    ' 1',
    '1\n',
    '"é"',
    '"\\u0041"',
    '"\u007f"',
    '"',
    'nul',
    '',
    '[1]',
    '{}',
  ])('it does not take %j', (text) => {
    expect(passesUnchanged(text)).toBe(false);
  });
});

describe('values that pass through native’s JSON library', () => {
  test.each([
    [
      'keys in the order of UTF-8 bytes, at every depth',
      '{"b":1,"a":{"z":1,"é":2,"Z":3}}',
      '{"a":{"Z":3,"z":1,"é":2},"b":1}',
    ],
    ['a surrogate pair sorts behind the private use area', '{"😀":1,"\uE000":2}', '{"\uE000":2,"😀":1}'],
    ['the last of equal keys', '{"a":1,"a":2}', '{"a":2}'],
    ['spaces', ' { "a" : [ 1 , 2 ] } ', '{"a":[1,2]}'],
    ['words', '[true,false,null]', '[true,false,null]'],
    ['escapes', '"\\u00e9\\n\\u0000\\/"', '"é\\n\\u0000/"'],
    [
      '64-bit integers',
      '[18446744073709551615,-9223372036854775808,0]',
      '[18446744073709551615,-9223372036854775808,0]',
    ],
    ['a double that moves', '9.5e-300', '9.499999999999999e-300'],
    [
      'doubles print with a point',
      '[1.0,1e2,1.5e20,1e16,123456.789,0.00001,1e-7]',
      '[1.0,100.0,1.5e20,1e16,123456.789,0.00001,1e-7]',
    ],
    [
      'integers beyond 64 bits',
      '[18446744073709551616,-9223372036854775809]',
      '[1.8446744073709552e19,-9.223372036854776e18]',
    ],
    ['minus zero', '[-0,-0.0,0.0]', '[-0.0,-0.0,0.0]'],
    ['underflow', '1e-400', '0.0'],
    ['zero with a huge exponent', '[0e999999999999,1e-999999999999]', '[0.0,0.0]'],
  ])('%s', (_what, text, printed) => {
    expect(throughNative(text)).toBe(printed);
  });

  test.each([
    ['not JSON', 'plain text'],
    ['nothing', ''],
    ['something behind it', '1 2'],
    ['an unpaired surrogate escape', '"\\ud800"'],
    ['a number beyond the doubles', '1e400'],
    ['a huge exponent', '1e99999999999'],
    ['a raw control character', '"\u0001"'],
    ['a bad escape', '"\\x"'],
    ['an open text', '"abc'],
    ['an open array', '[1'],
    ['a leading zero', '01'],
    ['a trailing comma', '[1,]'],
    ['too much nesting', `${'['.repeat(128)}${']'.repeat(128)}`],
  ])('%s stays text', (_what, text) => {
    expect(throughNative(text)).toBeUndefined();
    expect(raceValue(text)).toBe(text);
    expect(joinElement({ ok: true, text })).toEqual({ ok: text });
  });

  test('127 arrays: a race takes them; in a join the wrapper is too much, and the whole element is text', () => {
    const deep = `${'['.repeat(127)}${']'.repeat(127)}`;
    expect(JSON.stringify(raceValue(deep))).toBe(deep);
    expect(joinElement({ ok: true, text: deep })).toBe(`{"ok":${deep}}`);
    expect(element(`${'['.repeat(126)}${']'.repeat(126)}`)).toBe(`{"ok":${'['.repeat(126)}${']'.repeat(126)}}`);
  });

  test('a join passes the text twice, a race once', () => {
    // Found by search: the first passage moves it, and the second one again.
    const text = '[3.3e-302,8.7e-305,1.7e-306]';
    const once = throughNative(text) ?? '';
    expect(JSON.stringify(raceValue(text))).toBe(JSON.stringify(JSON.parse(once)));
    expect(element(text)).toBe(`{"ok":${JSON.stringify(JSON.parse(throughNative(once) ?? ''))}}`);
  });
});

const suite = nativeAvailable ? describe : describe.skip;

suite(`the same values in native ${nativeUnavailableReason}`, () => {
  const schema = uniqueSchema('json');
  let sdk: NativeSdk;
  beforeAll(async () => {
    sdk = await connectNative(databaseUrl(), schema);
  });
  afterAll(async () => {
    await sdk.close();
    await dropSchema(schema);
  });

  test('numbers of all sizes, in joins and races', async () => {
    const texts = numbers(1500);
    const runtime = sdk.runtime({ dispatcherPollIntervalMs: 5 });
    runtime.registerActivity('values', () => texts.map((text) => JSON.parse(text) as number));
    runtime.registerOrchestration('passes', function* (ctx) {
      const [joined] = (yield ctx.all([ctx.scheduleActivity('values')])) as [{ ok: unknown }];
      const raced = (yield ctx.race(ctx.scheduleActivity('values'), ctx.scheduleTimer(600_000))) as { value: unknown };
      return [joined.ok, raced.value];
    });
    await runtime.start();
    const client = sdk.client();
    await client.startOrchestration('numbers', 'passes');
    const { output } = await client.waitForOrchestration('numbers');
    await runtime.shutdown(50);
    const stored = JSON.stringify(texts.map((text) => JSON.parse(text) as number));
    const ours = [(joinElement({ ok: true, text: stored }) as { ok: unknown }).ok, raceValue(stored)];
    expect(output).toEqual(ours);
  });
});

/** Number texts of every magnitude, the same in each run. */
function numbers(count: number): string[] {
  let state = 12_345;
  const next = (): number => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  return Array.from({ length: count }, (_, i) => {
    const exponent = Math.floor(next() * 615) - 307;
    if (i % 5 === 0) return String(Math.floor(next() * 2 ** 53));
    if (i % 5 === 1) return String(next() * 10 ** Math.floor(next() * 18));
    const value = (next() * 10 - 5) * 10 ** exponent;
    return Number.isFinite(value) ? String(value) : '0.1';
  });
}

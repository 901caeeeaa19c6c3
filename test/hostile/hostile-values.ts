/** Arrays in arrays, so deep. */
export function nested(depth: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < depth; level++) value = [value];
  return value;
}

/** Objects in objects, so deep. */
export function nestedObjects(depth: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < depth; level++) value = { a: value };
  return value;
}

const controls =
  Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).join('') + '\u007f\u0085\u2028\u2029\ufeff';

/** Values that have broken stores, queues and parsers; each must come back as it was. */
export const ROUND_TRIPPING: Readonly<Record<string, unknown>> = {
  NUL: 'a\u0000b',
  'a lone high surrogate': 'a\ud800b',
  'a lone low surrogate': '\udc00',
  'surrogates the wrong way round': '\udc00\ud800',
  'control characters': controls,
  'backslashes and quotes': '\\"\\\\u0000\\u0000\'"`$1 $$ %s {} ${x} --',
  'text that looks like an escape': '\\u0000 \\ud800 \\x00',
  'ten megabytes': 'é'.repeat(5 * 1024 * 1024),
  'arrays 2,000 deep': nested(2_000),
  'objects 2,000 deep': nestedObjects(2_000),
  'keys of the prototype': JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":2}',
  ),
  'keys that are events of ours': {
    ActivityCompleted: { instance: 'x' },
    type: 'activity',
    kind: 'join',
    ok: 1,
    err: 2,
  },
  'a descriptor of a task': { type: 'continueAsNew', input: '1' },
  'a thenable in JSON': { then: 'x', catch: 1 },
  'numbers at the edges': [0, -0, 1e308, -1e308, 5e-324, Number.MAX_SAFE_INTEGER, 0.1 + 0.2],
  'right to left, joined and combined': '\u202eabc\u200d\u0301👩‍👩‍👧‍👦',
  'an empty key and an empty text': { '': '' },
  SQL: `'; drop table history; --`,
};

/** What JSON makes of a value: what comes back. */
export function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

/** Raw texts, for doors that store text and not JSON: NUL and lone surrogates become U+FFFD there. */
export const RAW_TEXTS: Readonly<Record<string, { readonly given: string; readonly kept: string }>> = {
  NUL: { given: 'a\u0000b', kept: 'a\ufffdb' },
  'a lone surrogate': { given: 'a\ud800b', kept: 'a\ufffdb' },
  'control characters': { given: controls, kept: controls.replace('\u0000', '\ufffd') },
  SQL: { given: `'; drop table history; --`, kept: `'; drop table history; --` },
  'a key of the prototype': { given: '__proto__', kept: '__proto__' },
  constructor: { given: 'constructor', kept: 'constructor' },
};

import { userFrames } from './user-frames.js';

/** A raw call in a turn: what was called, what the context has instead, and where. */
export interface RawCall {
  readonly what: string;
  readonly instead: string;
  readonly place: string;
}

/** Something that can be put back as it was. */
type Restore = () => void;

/**
 * Watches raw time and chance for a development check, until the returned function is
 * called: `onCall` hears of calls that user code makes while `isInTurn` says so. Replaces
 * `Date`, `Math.random`, `performance.now`, and `randomUUID` and `getRandomValues` of the global `crypto`,
 * by functions that do the same. What is imported from `node:crypto` cannot be; the lint rule sees it.
 */
export function watchRawCalls(isInTurn: () => boolean, onCall: (call: RawCall) => void): Restore {
  const note = (what: string, instead: string): void => {
    if (!isInTurn()) return;
    const stack = new Error().stack ?? '';
    const [direct = ''] = stack
      .split('\n')
      .filter((line) => !line.includes('raw-call-watch'))
      .slice(1);
    const place = userFrames(stack);
    // What the library itself asks the clock for is none of the user's code.
    if (place.startsWith(direct) && direct !== '') onCall({ what, instead, place });
  };
  const restores = [
    replaced(Math, 'random', (random) => () => (note('Math.random()', 'ctx.random()'), random())),
    replaced(globalThis.crypto, 'randomUUID', (randomUUID) => () => {
      note('crypto.randomUUID()', 'ctx.newGuid()');
      return randomUUID.call(globalThis.crypto);
    }),
    replaced(globalThis.crypto, 'getRandomValues', (getRandomValues) => (array) => {
      note('crypto.getRandomValues()', 'ctx.random()');
      return getRandomValues.call(globalThis.crypto, array) as typeof array;
    }),
    replaced(globalThis.performance, 'now', (now) => () => {
      note('performance.now()', 'ctx.now()');
      return now.call(globalThis.performance);
    }),
    replaced(globalThis, 'Date', (RawDate) => {
      return new Proxy(RawDate, {
        get: (date, key) => {
          if (key === 'now') note('Date.now()', 'ctx.now()');
          return Reflect.get(date, key) as unknown;
        },
        apply: (date) => (note('Date()', 'ctx.now()'), date()),
        construct: (date, args: unknown[], target) => {
          if (args.length === 0) note('new Date()', 'ctx.now()');
          return Reflect.construct(date, args, target) as object;
        },
      });
    }),
  ];
  return () => restores.forEach((restore) => restore());
}

/** Puts another value in its place; what somebody else has put there meanwhile stays. */
function replaced<Holder extends object, Key extends keyof Holder>(
  holder: Holder,
  key: Key,
  make: (original: Holder[Key]) => Holder[Key],
): Restore {
  const original = holder[key];
  const own = Object.hasOwn(holder, key);
  const replacement = make(original);
  Object.defineProperty(holder, key, { value: replacement, writable: true, configurable: true });
  return () => {
    if (holder[key] !== replacement) return;
    if (own) Object.defineProperty(holder, key, { value: original, writable: true, configurable: true });
    else Reflect.deleteProperty(holder, key);
  };
}

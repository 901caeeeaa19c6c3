import { Semaphore } from '../../src/base/semaphore.js';

/** How many run at the same time: the test has as many cores as it would have alone. */
const AT_ONCE = 2;

/** Runs that were begun together, each with an outcome of its own. */
export interface Runs<Name extends string> {
  /** What the run printed. @throws what the run threw */
  outcome(name: Name): Promise<string>;
  /** Resolves once nothing runs any more. */
  settled(): Promise<void>;
}

/** Begins all of them, in order and two at a time; one that fails stops none of the others. */
export function runsOf<Name extends string, Given>(
  works: Readonly<Record<Name, (given: Given) => Promise<string>>>,
  given: Given,
): Runs<Name> {
  const slots = new Semaphore(AT_ONCE);
  const outcomes = new Map<Name, Promise<string>>();
  for (const name of Object.keys(works) as Name[])
    outcomes.set(
      name,
      slots.run(() => works[name](given)),
    );
  const all = Promise.allSettled(outcomes.values());
  return {
    async outcome(name) {
      const outcome = outcomes.get(name);
      if (!outcome) throw new RangeError(`no run is called ${name}`);
      return outcome;
    },
    async settled() {
      await all;
    },
  };
}

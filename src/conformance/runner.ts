/** The assertions the suite uses: what jest's and vitest's `expect` have in common. */
export interface Matchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
  toBeNull(): void;
  toBeUndefined(): void;
  toContain(expected: unknown): void;
  toHaveLength(expected: number): void;
  toMatch(expected: RegExp): void;
  toBeGreaterThan(expected: number): void;
  toBeGreaterThanOrEqual(expected: number): void;
}

export interface Assertion extends Matchers {
  readonly not: Matchers;
}

export type Expect = (actual: unknown) => Assertion;

/** What the suite needs of a test runner; jest's and vitest's own functions fit as they are. */
export interface TestRunner {
  readonly describe: (name: string, define: () => void) => void;
  readonly test: {
    (name: string, run: () => Promise<void>, timeoutMs?: number): void;
    skip(name: string, run: () => Promise<void>): void;
  };
  readonly expect: Expect;
}

/**
 * The runner whose functions are global, as in jest by default.
 * @throws Error when there is none: hand in `{ describe, test, expect }` then.
 */
export function globalRunner(): TestRunner {
  const { describe, test, expect } = globalThis as Partial<TestRunner>;
  if (!describe || !test || !expect) {
    throw new Error('no global describe, test and expect: pass them as `runner`, e.g. from vitest or @jest/globals');
  }
  return { describe, test, expect };
}

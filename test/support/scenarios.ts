import { afterAll, afterEach, beforeAll, describe, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import type { Provider } from '../../src/provider/provider.js';
import type { RuntimeOptions } from '../../src/runtime/options.js';
import type { Backend, Handlers } from './runtime-harness.js';
import { BACKENDS, CACHE_MODES, SteppedRuntime } from './runtime-harness.js';

/** What a scenario works with. */
export interface Scenario {
  readonly backend: Backend;
  readonly clock: FakeClock;
  readonly provider: Provider;
  /** A runtime with these handlers, stepped by hand; several may share the store. */
  readonly open: (handlers: Handlers, options?: RuntimeOptions) => SteppedRuntime;
  /** An instance id that no other test uses. */
  readonly id: (name?: string) => string;
}

export type RunScenario = (scenario: Scenario) => Promise<void>;

/**
 * The same scenarios on every store, with and without live executions between turns. Each
 * store is opened once for the whole list; ids keep the tests apart.
 */
export function describeScenarios(
  title: string,
  scenarios: Readonly<Record<string, RunScenario>>,
  backends: readonly Backend['name'][] = BACKENDS.map(({ name }) => name),
): void {
  for (const backend of BACKENDS.filter(({ name }) => backends.includes(name))) {
    describe(`${title} on ${backend.name}`, () => {
      const clock = new FakeClock();
      let store: Awaited<ReturnType<Backend['open']>>;
      let opened: SteppedRuntime[] = [];
      let next = 0;

      beforeAll(async () => {
        store = await backend.open(clock);
      });
      afterAll(async () => {
        await store?.close();
      });
      afterEach(() => {
        const runtimes = opened;
        opened = [];
        for (const runtime of runtimes) runtime.assertFaithful();
      });

      for (const { cache, options: mode } of CACHE_MODES) {
        describe(cache, () => {
          for (const [name, run] of Object.entries(scenarios)) {
            test(name, async () => {
              await run({
                backend,
                clock,
                provider: store.provider,
                open: (handlers, options = {}) => {
                  const runtime = new SteppedRuntime(store.provider, clock, handlers, { ...mode, ...options });
                  opened.push(runtime);
                  return runtime;
                },
                id: (prefix = 'i') => `${prefix}-${cache}-${(next += 1)}`,
              });
            });
          }
        });
      }
    });
  }
}

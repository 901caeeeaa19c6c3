import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { ActivityRegistry, OrchestrationRegistry } from '../../src/runtime/registry.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { RecordingLogger } from '../support/runtime-harness.js';

function registryOf(...registrations: readonly (readonly [name: string, version: string | null, handler: string])[]) {
  const registry = new OrchestrationRegistry<string>();
  for (const [name, version, handler] of registrations) {
    if (version === null) registry.register(name, handler);
    else registry.registerVersioned(name, version, handler);
  }
  return registry;
}

describe('orchestrations', () => {
  test('R:VR-01 R:VR-04 the highest version by default; a plain registration is 1.0.0; listed ascending', () => {
    const registry = registryOf(['O', null, 'one'], ['O', '2.1.0', 'two'], ['O', '10.0.0', 'ten']);
    expect(registry.resolve('O')).toEqual({ version: '10.0.0', handler: 'ten' });
    expect(registry.versions('O')).toEqual(['1.0.0', '2.1.0', '10.0.0']);
    expect(registry.names()).toEqual(['O']);
  });

  test('R:VR-02 R:VR-07 exact versions, and none for a missing or unreadable one', () => {
    const registry = registryOf(['O', null, 'one'], ['O', '2.0.0', 'two']);
    expect(registry.resolveExact('O', '2.0.0')?.handler).toBe('two');
    expect(registry.resolveExact('O', '1.5.0')).toBeUndefined();
    expect(registry.resolveExact('O', 'two')).toBeUndefined();
    expect(registry.resolveExact('P', '2.0.0')).toBeUndefined();
  });

  test('R:VR-03 R:VR-08 a policy pins starts, and can be changed back', () => {
    const registry = registryOf(['O', null, 'one'], ['O', '2.0.0', 'two']);
    registry.setPolicy('O', { kind: 'exact', version: '1.0.0' });
    expect(registry.resolve('O')?.handler).toBe('one');
    registry.setPolicy('O', { kind: 'exact', version: '3.0.0' });
    expect(registry.resolve('O')).toBeUndefined();
    registry.setPolicy('O', { kind: 'latest' });
    expect(registry.resolve('O')?.handler).toBe('two');
  });

  test('R:VR-05 the last function of an equal registration stays, an explicit 1.0.0 beats the plain one', () => {
    const registry = registryOf(['O', '1.0.0', 'explicit'], ['O', null, 'plain'], ['P', null, 'a'], ['P', null, 'b']);
    expect(registry.resolve('O')?.handler).toBe('explicit');
    expect(registry.resolve('P')?.handler).toBe('b');
    expect(registry.repetitions()).toEqual(['duplicate orchestration registration: P@1.0.0']);
    expect(() => registry.check()).not.toThrow();
  });

  test.each([
    [
      [
        ['O', null, 'one'],
        ['O', '0.9.0', 'old'],
      ],
      'non-monotonic orchestration version for O: 0.9.0 is not later than existing latest 1.0.0',
    ],
    [
      [
        ['O', '2.0.0', 'two'],
        ['O', '1.0.0', 'one'],
      ],
      'non-monotonic orchestration version for O: 1.0.0 is not later than existing latest 2.0.0',
    ],
    [[['O', 'first', 'x']], "invalid orchestration version for O: 'first' is not like 1.2.3"],
  ] as const)('R:VR-06 %j is refused when it is checked', (registrations, message) => {
    expect(() => registryOf(...registrations).check()).toThrow(message);
  });

  test('R:VR-09 merging takes everything over and reports what both have', () => {
    const registry = registryOf(['O', null, 'mine']);
    const other = registryOf(['O', null, 'theirs'], ['P', '2.0.0', 'two']);
    other.setPolicy('P', { kind: 'exact', version: '2.0.0' });
    registry.merge(other);
    expect(registry.resolve('O')?.handler).toBe('theirs');
    expect(registry.resolve('P')?.handler).toBe('two');
    expect(registry.repetitions()).toEqual(['duplicate orchestration registration: O@1.0.0']);
  });

  test('R:VR-11 an empty registry resolves nothing', () => {
    expect(registryOf().resolve('O')).toBeUndefined();
    expect(registryOf().names()).toEqual([]);
  });
});

describe('activities', () => {
  test('R:VR-10 R:SC-09 the first function stays; a reserved name has no effect; both are reported', () => {
    const registry = new ActivityRegistry<string>();
    registry.register('A', 'first');
    registry.register('A', 'second');
    registry.register('__duroxide_syscall:new_guid', 'mine');
    expect(registry.find('A')).toBe('first');
    expect(registry.find('__duroxide_syscall:new_guid')).toBeUndefined();
    expect(registry.repetitions()).toEqual([
      'duplicate activity registration: A',
      "activity name '__duroxide_syscall:new_guid' uses reserved prefix '__duroxide_syscall:'",
    ]);
  });

  test('a name that cannot be stored is refused', () => {
    const registry = new ActivityRegistry<string>();
    registry.register('a\u0000b', 'x');
    expect(() => registry.check()).toThrow('activity name must not contain NUL');
  });
});

describe('a runtime', () => {
  function* orchestration(): Generator<never, void> {}

  test('R:VR-06 start rejects and names the version; it can be called again only with another set', async () => {
    const runtime = new Runtime(new MemoryProvider(new FakeClock()));
    runtime.registerOrchestration('O', orchestration);
    runtime.registerOrchestrationVersioned('O', '0.9.0', orchestration);
    await expect(runtime.start()).rejects.toThrow(/non-monotonic orchestration version for O: 0\.9\.0/);
    expect(runtime.metricsSnapshot()).toBeNull();
  });

  test('arguments of the wrong type throw at the call, with the code of native', () => {
    const runtime = new Runtime(new MemoryProvider(new FakeClock()));
    const loose = runtime as any;
    expect(() => loose.registerActivity(5, () => 1)).toThrow(expect.objectContaining({ code: 'StringExpected' }));
    expect(() => loose.registerOrchestration(null, orchestration)).toThrow(
      expect.objectContaining({ code: 'StringExpected' }),
    );
    expect(() => loose.registerOrchestrationVersioned('O', 2, orchestration)).toThrow(
      expect.objectContaining({ code: 'StringExpected' }),
    );
    expect(() => loose.registerActivity('A', 'no function')).toThrow(/activity 'A' must be a function, got string/);
  });

  test('an async function as orchestration is warned about at registration', () => {
    const logger = new RecordingLogger();
    const runtime = new Runtime(new MemoryProvider(new FakeClock()), { logger });
    (runtime as any).registerOrchestration('Async', async () => 1);
    expect(logger.matching('registerOrchestration takes a generator function')).toHaveLength(1);
  });
});

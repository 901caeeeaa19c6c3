import { describe, expect, test } from '@jest/globals';
import { OrchestrationContext } from '../../../src/runtime/generator/orchestration-context.js';
import { generatorTurn } from '../../support/generator-turns.js';

/** What a method returns, as JSON sees it. */
function descriptor(make: (ctx: OrchestrationContext) => unknown): unknown {
  let made: unknown;
  generatorTurn(function* (ctx) {
    made = make(ctx);
    yield ctx.scheduleTimer(1);
  });
  return made;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('descriptors of the orchestration context', () => {
  test.each<[string, (ctx: OrchestrationContext) => unknown, object]>([
    ['scheduleActivity', (c) => c.scheduleActivity('A', { b: 1 }), { type: 'activity', name: 'A', input: '{"b":1}' }],
    ['scheduleActivity without input', (c) => c.scheduleActivity('A'), { type: 'activity', name: 'A', input: 'null' }],
    [
      'scheduleActivity on a session',
      (c) => c.scheduleActivity('A', 1, { sessionId: 's' }),
      { type: 'activity', name: 'A', input: '1', sessionId: 's' },
    ],
    [
      'scheduleActivity with an empty session',
      (c) => c.scheduleActivity('A', 1, { sessionId: '' }),
      { type: 'activity', name: 'A', input: '1' },
    ],
    [
      'withTag',
      (c) => c.scheduleActivity('A', 1).withTag('gpu'),
      { type: 'activity', name: 'A', input: '1', tag: 'gpu' },
    ],
    [
      'scheduleActivityOnSession',
      (c) => c.scheduleActivityOnSession('A', 1, 's'),
      { type: 'activity', name: 'A', input: '1', sessionId: 's' },
    ],
    [
      'scheduleActivityWithRetry',
      (c) => c.scheduleActivityWithRetry('A', 1, { maxAttempts: 3 }),
      { type: 'activityWithRetry', name: 'A', input: '1', retry: { maxAttempts: 3 } },
    ],
    [
      'scheduleActivityWithRetryOnSession',
      (c) => c.scheduleActivityWithRetryOnSession('A', 1, { maxAttempts: 3, backoff: 'fixed', timeoutMs: 5 }, 's'),
      {
        type: 'activityWithRetry',
        name: 'A',
        input: '1',
        retry: { maxAttempts: 3, backoff: 'fixed', timeoutMs: 5 },
        sessionId: 's',
      },
    ],
    ['scheduleTimer', (c) => c.scheduleTimer(5), { type: 'timer', delayMs: 5 }],
    ['waitForEvent', (c) => c.waitForEvent('e'), { type: 'waitEvent', name: 'e' }],
    ['dequeueEvent', (c) => c.dequeueEvent('q'), { type: 'dequeueEvent', queueName: 'q' }],
    [
      'getValueFromInstance',
      (c) => c.getValueFromInstance('i', 5 as never),
      { type: 'getValueFromInstance', instanceId: 'i', key: '5' },
    ],
    [
      'scheduleSubOrchestration',
      (c) => c.scheduleSubOrchestration('C', 1),
      { type: 'subOrchestration', name: 'C', input: '1' },
    ],
    [
      'scheduleSubOrchestrationWithId',
      (c) => c.scheduleSubOrchestrationWithId('C', 'i', 1),
      { type: 'subOrchestrationWithId', name: 'C', instanceId: 'i', input: '1' },
    ],
    [
      'scheduleSubOrchestrationVersioned',
      (c) => c.scheduleSubOrchestrationVersioned('C', '', 1),
      { type: 'subOrchestrationVersioned', name: 'C', version: null, input: '1' },
    ],
    [
      'scheduleSubOrchestrationVersionedWithId',
      (c) => c.scheduleSubOrchestrationVersionedWithId('C', '2.0.0', 'i', 1),
      { type: 'subOrchestrationVersionedWithId', name: 'C', version: '2.0.0', instanceId: 'i', input: '1' },
    ],
    [
      'startOrchestration',
      (c) => c.startOrchestration('D', 'i', 1),
      { type: 'orchestration', name: 'D', instanceId: 'i', input: '1' },
    ],
    [
      'startOrchestrationVersioned',
      (c) => c.startOrchestrationVersioned('D', '1.0.0', 'i', 1),
      { type: 'orchestrationVersioned', name: 'D', version: '1.0.0', instanceId: 'i', input: '1' },
    ],
    ['newGuid', (c) => c.newGuid(), { type: 'newGuid' }],
    ['utcNow', (c) => c.utcNow(), { type: 'utcNow' }],
    ['continueAsNew', (c) => c.continueAsNew(), { type: 'continueAsNew', input: 'null' }],
    [
      'continueAsNewVersioned',
      (c) => c.continueAsNewVersioned(1, '2.0.0'),
      { type: 'continueAsNewVersioned', input: '1', version: '2.0.0' },
    ],
    ['all', (c) => c.all([c.newGuid()]), { type: 'join', tasks: [{ type: 'newGuid' }] }],
    ['race', (c) => c.race(c.newGuid()), { type: 'select', tasks: [{ type: 'newGuid' }] }],
    [
      'scheduleActivityTyped',
      (c) => c.scheduleActivityTyped('A', 1),
      { type: 'activity', name: 'A', input: '1', _typed: true },
    ],
    ['waitForEventTyped', (c) => c.waitForEventTyped('e'), { type: 'waitEvent', name: 'e', _typed: true }],
    ['dequeueEventTyped', (c) => c.dequeueEventTyped('q'), { type: 'dequeueEvent', queueName: 'q', _typed: true }],
    ['allTyped', (c) => c.allTyped([]), { type: 'join', tasks: [], _typed: true }],
    ['raceTyped', (c) => c.raceTyped(), { type: 'select', tasks: [], _typed: true }],
    [
      'startOrchestrationTyped is an alias',
      (c) => c.startOrchestrationTyped('D', 'i', 1),
      { type: 'orchestration', name: 'D', instanceId: 'i', input: '1' },
    ],
    ['continueAsNewTyped is an alias', (c) => c.continueAsNewTyped(1), { type: 'continueAsNew', input: '1' }],
  ])('%s', (_what, make, expected) => {
    expect(plain(descriptor(make))).toEqual(expected);
  });

  test('the four fields of a retry policy are always there', () => {
    const made = descriptor((c) => c.scheduleActivityWithRetry('A', 1, { maxAttempts: 1 })) as { retry: object };
    expect(Object.keys(made.retry)).toEqual(['maxAttempts', 'timeoutMs', 'totalTimeoutMs', 'backoff']);
  });

  test('withTag returns the same descriptor, and only activities without retry have it', () => {
    generatorTurn(function* (ctx) {
      const task = ctx.scheduleActivity('A');
      expect(task.withTag('t')).toBe(task);
      expect(ctx.scheduleActivityWithRetry('A', 1, { maxAttempts: 1 })).not.toHaveProperty('withTag');
      yield task;
    });
    expect.assertions(2);
  });

  test('a retry without a policy throws inside the generator', () => {
    const outcome = generatorTurn(function* (ctx) {
      try {
        yield ctx.scheduleActivityWithRetry('A', 1, undefined as never);
      } catch (error) {
        return (error as Error).name;
      }
    });
    expect(outcome.result).toEqual({ kind: 'completed', output: '"TypeError"' });
  });

  test('all 48 methods and 4 fields', () => {
    const methods = Object.getOwnPropertyNames(OrchestrationContext.prototype).filter((name) => name !== 'constructor');
    expect(methods).toHaveLength(48);
    const fields = descriptor((ctx) => Object.keys(ctx));
    expect(fields).toEqual(['instanceId', 'executionId', 'orchestrationName', 'orchestrationVersion']);
  });

  test('the fields', () => {
    const made = descriptor((ctx) => ({ ...ctx }));
    expect(made).toEqual({
      instanceId: 'inst',
      executionId: 1,
      orchestrationName: 'Orch',
      orchestrationVersion: '1.0.0',
    });
  });

  test('a descriptor that is not yielded leaves no trace; one that is yielded twice is scheduled twice', () => {
    const outcome = generatorTurn(function* (ctx) {
      ctx.scheduleActivity('unused');
      const twice = ctx.scheduleActivity('A');
      yield ctx.all([twice, twice]);
    });
    expect(outcome.workerItems).toMatchObject([{ name: 'A' }, { name: 'A' }]);
  });
});

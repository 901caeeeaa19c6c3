import { describe, expect, test } from '@jest/globals';
import { resolveRuntimeOptions } from '../../src/runtime/options.js';

describe('runtime options (R:1.1, node-api 5)', () => {
  test('our defaults', () => {
    for (const nothing of [undefined, null, {}]) {
      expect(resolveRuntimeOptions(nothing)).toMatchObject({
        orchestrationConcurrency: 100,
        workerConcurrency: 32,
        pollIntervalMs: 100,
        maxPollIntervalMs: undefined,
        unregisteredBaseDelayMs: 1_000,
        unregisteredMaxDelayMs: 60_000,
        maxAttempts: 10,
        suspectAttempts: 3,
        activityCancellationGracePeriodMs: 10_000,
        sessionLockTimeoutMs: 30_000,
        sessionIdleTimeoutMs: 300_000,
        maxSessionsPerRuntime: 10,
        tagFilter: { kind: 'defaultOnly' },
        warmInstances: 1_000,
        warmBytes: 67_108_864,
        maxPayloadBytes: 33_554_432,
        logFormat: 'pretty',
        logLevel: 'info',
      });
    }
  });

  test('unknown options are ignored, fractions cut off, both spellings of the interval work', () => {
    const loose = { dispatcherPollInterval: 5, workerConcurrency: 2.9, dispatcherMinPollIntervalMs: 7 };
    expect(resolveRuntimeOptions(loose)).toMatchObject({ workerConcurrency: 2, pollIntervalMs: 7 });
    expect(resolveRuntimeOptions({ dispatcherMinPollIntervalMs: 7, dispatcherPollIntervalMs: 9 }).pollIntervalMs).toBe(
      9,
    );
    expect(resolveRuntimeOptions({ logFormat: 'whatever' }).logFormat).toBe('compact');
  });

  test.each([
    [{ workerConcurrency: '2' }, 'NumberExpected', 'workerConcurrency'],
    [{ workerConcurrency: null }, 'NumberExpected', 'workerConcurrency'],
    [{ workerNodeId: 5 }, 'StringExpected', 'workerNodeId'],
    [{ logLevel: 1 }, 'StringExpected', 'logLevel'],
    [{ unregisteredBackoff: { maxDelayMs: 'x' } }, 'NumberExpected', 'unregisteredBackoff.maxDelayMs'],
    [{ workerTagFilter: {} }, 'InvalidArg', 'workerTagFilter'],
    [{ logger: 5 }, 'InvalidArg', 'logger'],
    [{ logger: {} }, 'InvalidArg', 'logger'],
    [{ logger: console.log }, 'InvalidArg', 'logger'],
    [{ telemetry: 5 }, 'InvalidArg', 'telemetry'],
    [{ clock: 5 }, 'InvalidArg', 'clock'],
    [{ workerTagFilter: { tags: [1] } }, 'StringExpected', 'workerTagFilter.tags'],
  ])('%j throws %s and names the option', (options, code, option) => {
    expect(() => resolveRuntimeOptions(options as never)).toThrow(
      expect.objectContaining({
        code,
        message: expect.stringMatching(new RegExp(` on JsRuntimeOptions\\.${option}$`)),
      }),
    );
  });

  test.each([
    [{ workerConcurrency: -1 }, 'workerConcurrency'],
    [{ workerLockTimeoutMs: NaN }, 'workerLockTimeoutMs'],
    [{ sessionIdleTimeoutMs: Infinity }, 'sessionIdleTimeoutMs'],
    [{ maxAttempts: 0 }, 'maxAttempts'],
    [{ logLevel: 'verbose' }, 'logLevel'],
    [{ observability: { logLevel: 'verbose' } }, 'logLevel'],
    [{ supportedReplayVersions: { min: '2.0.0', max: '1.0.0' } }, 'supportedReplayVersions.min'],
    [{ supportedReplayVersions: { min: 'x', max: '1.0.0' } }, 'supportedReplayVersions.min'],
    [{ workerTagFilter: { tags: [] } }, 'workerTagFilter.tags'],
  ])('%j is a RangeError that names the option', (options, option) => {
    expect(() => resolveRuntimeOptions(options)).toThrow(RangeError);
    expect(() => resolveRuntimeOptions(options)).toThrow(option);
  });

  test.each([
    ['any', undefined, { kind: 'any' }],
    ['none', undefined, { kind: 'none' }],
    ['unheard of', undefined, { kind: 'defaultOnly' }],
    ['tags', ['a'], { kind: 'tags', tags: ['a'] }],
    ['defaultAnd', ['a', 'a', 'b'], { kind: 'defaultAnd', tags: ['a', 'b'] }],
    [{ tags: ['a'], defaultAnd: ['b'] }, undefined, { kind: 'tags', tags: ['a'] }],
    [{ tags: ['1', '2', '3', '4', '5', '6'] }, undefined, { kind: 'tags', tags: ['1', '2', '3', '4', '5', '6'] }],
  ])('tag filter %j', (filter, tags, expected) => {
    const options = { workerTagFilter: filter, ...(tags && { workerTagFilterTags: tags }) };
    expect(resolveRuntimeOptions(options as never).tagFilter).toEqual(expected);
  });
});

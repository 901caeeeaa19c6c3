import type { Runtime } from '../../src/runtime/runtime.js';

/** The kinds of instances that a soak keeps in flight; each ends by itself within seconds. */
export const KINDS = ['hello', 'fanOut', 'retrying', 'timer', 'parent', 'loop', 'keeper'] as const;

export function registerSoakPrograms(runtime: Runtime): void {
  runtime.registerActivity('echo', (_ctx, input) => input);
  const failed = new Set<unknown>();
  runtime.registerActivity('flaky', (_ctx, input) => {
    if (failed.delete(input)) return input;
    failed.add(input);
    throw new Error('not yet');
  });
  runtime.registerOrchestration('hello', function* (ctx, input) {
    return yield ctx.scheduleActivity('echo', input);
  });
  runtime.registerOrchestration('fanOut', function* (ctx, input) {
    yield ctx.all(Array.from({ length: 10 }, () => ctx.scheduleActivity('echo', input)));
    return input;
  });
  runtime.registerOrchestration('retrying', function* (ctx, input) {
    const retry = { maxAttempts: 10, backoff: 'fixed', initialIntervalMs: 1 };
    return yield ctx.scheduleActivityWithRetry('flaky', input, retry);
  });
  runtime.registerOrchestration('timer', function* (ctx, input) {
    yield ctx.scheduleTimer(500);
    return input;
  });
  runtime.registerOrchestration('parent', function* (ctx, input) {
    return yield ctx.scheduleSubOrchestration('hello', input);
  });
  runtime.registerOrchestration('loop', function* (ctx, input) {
    const { left, value } = input as { left: number; value: unknown };
    yield ctx.scheduleActivity('echo', value);
    if (left === 0) return value;
    yield ctx.continueAsNew({ left: left - 1, value });
    return undefined;
  });
  runtime.registerOrchestration('keeper', function* (ctx, input) {
    ctx.setValue('seen', String(input));
    ctx.setCustomStatus('kept');
    return yield ctx.scheduleActivity('echo', input);
  });
}

export function inputOf(kind: (typeof KINDS)[number], n: number): unknown {
  return kind === 'loop' ? { left: 3, value: n } : n;
}

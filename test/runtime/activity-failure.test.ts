import { describe, expect, test } from '@jest/globals';
import { activityFailureText, activityResult } from '../../src/runtime/activity-failure.js';
import { describeScenarios } from '../support/scenarios.js';

const prefix = "Activity 'A' JS execution failed: ";

class Odd {
  get message(): string {
    throw new Error('even this');
  }
}
const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

describe('what an activity throws (R:3.13, D-23, C-33)', () => {
  test.each<[unknown, string]>([
    [new Error('boom'), 'GenericFailure, Error: boom'],
    [new TypeError('bad'), 'GenericFailure, TypeError: bad'],
    [new Error(''), 'GenericFailure, Error'],
    [new Error('a', { cause: new Error('b') }), 'GenericFailure, Error: a'],
    ['plain', 'InvalidArg, plain'],
    [5, 'InvalidArg, 5'],
    [undefined, 'InvalidArg, undefined'],
    [null, 'InvalidArg, null'],
    [{ message: 'has one' }, 'GenericFailure, has one'],
    [{ code: 5 }, 'GenericFailure, {"code":5}'],
    [cycle, 'GenericFailure, [object Object]'],
    [new Odd(), 'GenericFailure, [object Object]'],
    [Object.create(null), 'GenericFailure, {}'],
  ])('%p', (thrown, text) => {
    expect(activityFailureText('A', thrown)).toBe(prefix + text);
  });

  test('a large object is shown by its first thousand characters', () => {
    const text = activityFailureText('A', { data: 'x'.repeat(5_000) });
    expect(text).toHaveLength(prefix.length + 'GenericFailure, '.length + 1_000);
  });
});

describe('what an activity returns (node-api 2)', () => {
  test.each<[unknown, string]>([
    [undefined, 'null'],
    [null, 'null'],
    ['', '""'],
    [0, '0'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [NaN, 'null'],
  ])('%p is stored as %s', (value, result) => {
    expect(activityResult('A', value, 1_000)).toEqual({ ok: true, result });
  });

  test('a BigInt, a cycle and a function fail the activity', () => {
    expect(activityResult('A', 1n, 1_000)).toMatchObject({
      ok: false,
      message: expect.stringContaining(`${prefix}GenericFailure, TypeError: `),
    });
    expect(activityResult('A', cycle, 1_000)).toMatchObject({ ok: false });
    expect(activityResult('A', () => 1, 1_000)).toEqual({
      ok: false,
      message: `${prefix}StringExpected, Failed to convert JavaScript value \`Undefined\` into rust type \`String\``,
    });
  });

  test('C-24 the limit is in bytes, and a result at the limit passes', () => {
    expect(activityResult('A', 'é'.repeat(4), 10)).toMatchObject({ ok: true });
    expect(activityResult('A', 'é'.repeat(5), 10)).toEqual({
      ok: false,
      message: "Activity 'A' result (12 bytes) exceeds limit (10 bytes)",
    });
  });
});

describeScenarios('bad input', {
  'each bad orchestration fails by itself, with a clear text, and its neighbour is well': async ({ open, id }) => {
    const runtime = open({
      activities: { Echo: (_ctx, input) => input },
      orchestrations: {
        *Task() {
          yield 42;
        },
        *Nothing() {
          yield undefined;
        },
        *BigInput(ctx) {
          yield ctx.scheduleActivity('Echo', 1n);
        },
        *Negative(ctx) {
          yield ctx.scheduleTimer(-5);
        },
        *Fraction(ctx) {
          yield ctx.scheduleTimer(1.5);
        },
        NoGenerator: (() => 5) as never,
        *Neighbour(ctx) {
          return yield ctx.scheduleActivity('Echo', 'well');
        },
      },
    });
    const neighbour = id();
    await runtime.client.startOrchestration(neighbour, 'Neighbour');
    for (const [name, error] of [
      ['Task', 'Invalid generator step result: '],
      ['Nothing', 'Invalid generator step result: missing field `task`'],
      ['BigInput', 'TypeError: '],
      ['Negative', 'Invalid generator step result: invalid value: integer `-5`, expected u64'],
      ['Fraction', 'Invalid generator step result: invalid type: floating point `1.5`, expected u64'],
      ['NoGenerator', 'TypeError: gen.next is not a function'],
    ] as const) {
      expect(await runtime.run(id(), name)).toMatchObject({ status: 'Failed', error: expect.stringContaining(error) });
    }
    expect((await runtime.runToEnd(neighbour)).output).toBe('well');
  },

  'C-33 thrown values of every kind arrive as readable errors': async ({ open, id }) => {
    const values: unknown[] = [undefined, 'plain', { code: 5 }];
    const runtime = open({
      activities: {
        Throw: (_ctx, at: number) => {
          throw values[at];
        },
        Reject: () => Promise.reject(),
      },
      orchestrations: {
        *Catch(ctx, [activity, at]) {
          try {
            return yield ctx.scheduleActivity(activity, at);
          } catch (error) {
            return (error as Error).message.split('failed: ')[1];
          }
        },
      },
    });
    for (const [input, text] of [
      [['Throw', 0], 'InvalidArg, undefined'],
      [['Throw', 1], 'InvalidArg, plain'],
      [['Throw', 2], 'GenericFailure, {"code":5}'],
      [['Reject', 0], 'InvalidArg, undefined'],
    ]) {
      expect((await runtime.run(id(), 'Catch', input)).output).toBe(text);
    }
  },

  'C-24 results and inputs above the limit fail once; the neighbour is well': async ({ open, id }) => {
    const runtime = open(
      {
        activities: { Big: () => 'x'.repeat(2_000), Echo: (_ctx, input) => input },
        orchestrations: {
          *Result(ctx) {
            try {
              return yield ctx.scheduleActivity('Big');
            } catch (error) {
              return (error as Error).message;
            }
          },
          *Input(ctx) {
            return yield ctx.scheduleActivity('Echo', 'x'.repeat(2_000));
          },
          *Small(ctx) {
            return yield ctx.scheduleActivity('Echo', 'small');
          },
        },
      },
      { maxPayloadBytes: 1_000 },
    );
    expect((await runtime.run(id(), 'Result')).output).toBe(
      "Activity 'Big' result (2002 bytes) exceeds limit (1000 bytes)",
    );
    expect((await runtime.run(id(), 'Input')).error).toContain('exceeds limit (1000 bytes)');
    expect((await runtime.run(id(), 'Small')).output).toBe('small');
  },
});

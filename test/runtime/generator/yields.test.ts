import { afterEach, describe, expect, test } from '@jest/globals';
import type { OrchestrationContext } from '../../../src/runtime/generator/orchestration-context.js';
import type { TraceRecord } from '../../../src/runtime/tracing/trace-record.js';
import { generatorSimulation, generatorTurn, runToEnd } from '../../support/generator-turns.js';
import { HistoryBuilder, message, started } from '../../support/history-builder.js';
import { failureOf, kinds, outputOf, written } from '../../support/turns.js';

type Ctx = OrchestrationContext;

/** Yields one task and tells what came of it. */
const tells = (make: (ctx: Ctx) => unknown) =>
  function* (ctx: Ctx): Generator<unknown, unknown, unknown> {
    try {
      return { value: yield make(ctx) };
    } catch (error) {
      return { thrown: (error as Error).message, keys: Object.keys(error as Error) };
    }
  };

describe('what a yield gives', () => {
  test.each<[string, (ctx: Ctx) => unknown, object]>([
    ['an activity: its parsed result', (c) => c.scheduleActivity('echo', { a: [1] }), { value: { a: [1] } }],
    ['a timer: null', (c) => c.scheduleTimer(1), { value: null }],
    ['a child: its parsed output', (c) => c.scheduleSubOrchestration('C', 'x'), { value: 'x' }],
    ['a child with an id', (c) => c.scheduleSubOrchestrationWithId('C', 'id', 1), { value: 1 }],
    ['a versioned child', (c) => c.scheduleSubOrchestrationVersioned('C', '1.0.0', 1), { value: 1 }],
    [
      'a versioned child with an id',
      (c) => c.scheduleSubOrchestrationVersionedWithId('C', null, 'id'),
      { value: null },
    ],
    ['a detached start: null', (c) => c.startOrchestration('D', 'd'), { value: null }],
    ['a join of nothing', (c) => c.all([]), { value: [] }],
    ['a join', (c) => c.all([c.scheduleActivity('echo', 1), c.scheduleTimer(1)]), { value: [{ ok: 1 }, { ok: null }] }],
    ['a race', (c) => c.race(c.scheduleActivity('echo', 1), c.waitForEvent('e')), { value: { index: 0, value: 1 } }],
  ])('%s', (_what, make, expected) => {
    expect(runToEnd(tells(make)).output).toEqual(expected);
  });

  test('R:SC-01 R:SC-02 R:SC-07 system calls are activities, their results are bare', () => {
    const { sim, output } = runToEnd(
      function* (ctx): Generator<unknown, unknown, unknown> {
        return [yield ctx.newGuid(), yield ctx.utcNow(), yield ctx.getValueFromInstance('i', 'k'), yield ctx.newGuid()];
      },
      {
        answer: (name, input) => {
          if (name.endsWith('new_guid')) return '0b5e6d9c-9d1f-4a55-8a3a-3f7d1c2b4a5e';
          return name.endsWith('utc_now_ms') ? '1700000000123' : `"${input.length}"`;
        },
      },
    );
    expect(output).toEqual([
      '0b5e6d9c-9d1f-4a55-8a3a-3f7d1c2b4a5e',
      1_700_000_000_123,
      '29',
      '0b5e6d9c-9d1f-4a55-8a3a-3f7d1c2b4a5e',
    ]);
    expect(sim.history.filter(({ kind }) => kind === 'ActivityScheduled')).toMatchObject([
      { name: '__duroxide_syscall:new_guid', input: '' },
      { name: '__duroxide_syscall:utc_now_ms', input: '' },
      { name: '__duroxide_syscall:get_kv_value', input: '{"instance_id":"i","key":"k"}' },
      { name: '__duroxide_syscall:new_guid', input: '' },
    ]);
  });

  test('R:SC-03 R:SC-05 R:SC-06 recorded values come back on replay and make the same inputs', () => {
    const history = started().activity('__duroxide_syscall:utc_now_ms', '').activityDone(2, '42').activity('A', '42');
    const outcome = generatorTurn(
      function* (ctx) {
        const now = yield ctx.utcNow();
        return yield ctx.scheduleActivity('A', now);
      },
      { history, messages: [message.activityDone(4, '"same"')] },
    );
    expect(outputOf(outcome)).toBe('"same"');
  });

  test('an event and a message give their parsed data', () => {
    const fn = function* (ctx: Ctx): Generator<unknown, unknown, unknown> {
      return [yield ctx.waitForEvent('e'), yield ctx.dequeueEvent('q')];
    };
    const sim = generatorSimulation(fn);
    sim.start(message.queued('q', '{"m":1}'));
    expect(sim.turn(message.raised('e', '"x"')).result).toEqual({ kind: 'completed', output: '["x",{"m":1}]' });
  });

  test('text that is not JSON comes as it is', () => {
    expect(
      runToEnd(
        tells((c) => c.scheduleActivity('raw')),
        { answer: () => 'not json' },
      ).output,
    ).toEqual({
      value: 'not json',
    });
  });

  describe('failures', () => {
    const failing = (text: string) =>
      runToEnd(
        tells((c) => c.scheduleActivity('fails')),
        { answer: () => new Error(text) },
      );
    test.each([
      ['boom', 'boom'],
      ['42', '42'],
      ['"quoted"', 'quoted'],
      ['{ "a" :  1 }', '{"a":1}'],
    ])('R:FF-01 %j is thrown as %j, a plain error with nothing but its message', (text, thrown) => {
      expect(failing(text).output).toEqual({ thrown, keys: [] });
    });

    test('R:FF-07 an error that nobody catches ends the instance with its stack text', () => {
      const outcome = generatorTurn(
        function* (ctx) {
          yield ctx.scheduleActivity('A');
        },
        { history: started().activity('A', 'null'), messages: [message.activityFailed(2, 'boom')] },
      );
      expect(failureOf(outcome)).toMatch(/^Error: boom\n\s+at /);
    });

    test.each([
      ['a text', 'plain', 'plain'],
      ['an object', { code: 5 }, '[object Object]'],
      ['nothing', undefined, 'undefined'],
      ['null', null, 'null'],
      ['an object with a stack', { stack: 'my stack' }, 'my stack'],
      [
        'an object that cannot be printed',
        { toString: undefined, valueOf: undefined },
        'an error that cannot be printed was thrown',
      ],
    ])('thrown %s', (_what, thrown, text) => {
      const outcome = generatorTurn(function* (ctx) {
        yield ctx.all([]);
        throw thrown as Error; // users throw anything
      });
      expect(failureOf(outcome)).toBe(text);
    });

    test('in a join a failure is an element, in a race a value (R:T-13 D-16)', () => {
      const answer = () => new Error('bad');
      expect(
        runToEnd(
          tells((c) => c.all([c.scheduleActivity('x')])),
          { answer },
        ).output,
      ).toEqual({ value: [{ err: 'bad' }] });
      expect(
        runToEnd(
          tells((c) => c.race(c.scheduleActivity('x'), c.waitForEvent('e'))),
          { answer },
        ).output,
      ).toEqual({ value: { index: 0, value: 'bad' } });
    });

    test('an error text inside a join is parsed when it is JSON', () => {
      const answer = () => new Error('{"b":1,"a":2}');
      expect(
        JSON.stringify(
          runToEnd(
            tells((c) => c.all([c.scheduleActivity('x')])),
            { answer },
          ).output,
        ),
      ).toBe('{"value":[{"err":{"a":2,"b":1}}]}');
    });
  });

  describe('C-20 a string that looks like JSON', () => {
    const texts = ['123', 'true', 'null', '"0.1"', '{"n":5}', ''];
    test.each(texts)('%j stays a string everywhere', (text) => {
      const { output } = runToEnd(
        function* (ctx): Generator<unknown, unknown, unknown> {
          ctx.setValue('k', text);
          ctx.setCustomStatus(text);
          const [joined] = (yield ctx.all([ctx.scheduleActivity('echo', text)])) as [{ ok: unknown }];
          const raced = (yield ctx.race(ctx.scheduleActivity('echo', text), ctx.waitForEvent('e'))) as {
            value: unknown;
          };
          return [
            yield ctx.scheduleActivity('echo', text),
            yield ctx.scheduleSubOrchestration('C', text),
            joined.ok,
            raced.value,
            yield ctx.dequeueEvent('q'),
            ctx.getValue('k'),
            ctx.getCustomStatus(),
          ];
        },
        { first: [message.queued('q', JSON.stringify(text))] },
      );
      expect(output).toEqual([text, text, text, text, text, text, text]);
    });

    test.each([
      ['123', 123],
      ['{"n":5}', { n: 5 }],
      ['plain', 'plain'],
      ['', ''],
    ])('the typed variants decode %j once more', (text, decoded) => {
      const { output } = runToEnd(function* (ctx): Generator<unknown, unknown, unknown> {
        return [
          yield ctx.scheduleActivityTyped('echo', text),
          yield ctx.scheduleActivityOnSessionTyped('echo', text, 's'),
          yield ctx.scheduleActivityWithRetryTyped('echo', text, { maxAttempts: 1 }),
          yield ctx.scheduleActivityWithRetryOnSessionTyped('echo', text, { maxAttempts: 1 }, 's'),
          yield ctx.scheduleSubOrchestrationTyped('C', text),
          yield ctx.scheduleSubOrchestrationWithIdTyped('C', 'id', text),
          yield ctx.allTyped([ctx.scheduleActivity('echo', text)]),
          yield ctx.raceTyped(ctx.scheduleActivity('echo', text), ctx.waitForEvent('e')),
          yield ctx.all([ctx.scheduleActivityTyped('echo', text)]), // the flag of the inner task is ignored
        ];
      });
      expect(output).toEqual([
        ...Array.from({ length: 6 }, () => decoded),
        [{ ok: decoded }],
        { index: 0, value: decoded },
        [{ ok: text }],
      ]);
    });

    test('R:QE-12 R:EV-14 on events and mailboxes the flag has no effect', () => {
      const sim = generatorSimulation(function* (ctx): Generator<unknown, unknown, unknown> {
        return [yield ctx.dequeueEventTyped('q'), yield ctx.waitForEventTyped('e')];
      });
      sim.start(message.queued('q', '"123"'));
      expect(sim.turn(message.raised('e', '"123"')).result).toMatchObject({ output: '["123","123"]' });
    });
  });

  test.each([0, '', false, null])('C-21 %j keeps its value and type', (value) => {
    const { sim, output } = runToEnd(
      function* (ctx): Generator<unknown, unknown, unknown> {
        if (ctx.executionId === 1) return yield ctx.continueAsNew(value);
        const input = yield ctx.scheduleActivity('echo', value);
        return [
          input,
          yield ctx.scheduleSubOrchestration('C', value),
          yield ctx.dequeueEvent('q'),
          yield ctx.all([ctx.scheduleActivity('echo', value)]),
        ];
      },
      { first: [message.queued('q', JSON.stringify(value))] },
    );
    expect(output).toEqual([value, value, value, [{ ok: value }]]);
    expect(sim.history[0]).toMatchObject({ kind: 'OrchestrationStarted', input: JSON.stringify(value) });
  });

  test('C-22 keys come back as they were', () => {
    const odd = JSON.parse('{"snake_case":1,"a-b":2,"":3,"10":1,"9":2,"__proto__x":1,"__proto__":{"x":1}}') as object;
    const { output } = runToEnd(function* (ctx): Generator<unknown, unknown, unknown> {
      return [yield ctx.scheduleActivity('echo', odd), yield ctx.all([ctx.scheduleActivity('echo', odd)])];
    });
    expect(JSON.stringify((output as unknown[])[0])).toBe(JSON.stringify(odd));
    expect((output as [unknown, [{ ok: unknown }]])[1][0].ok).toEqual(odd);
  });

  test('R:T-13 C-21 inputs: parsed, absent for an empty text, raw where it is not JSON (D-22)', () => {
    const seen = (input: string) =>
      outputOf(
        generatorTurn(
          function* (ctx, given: unknown) {
            yield ctx.all([]);
            return [given, given === undefined];
          },
          { start: { input } },
        ),
      );
    expect(seen('{"a":1}')).toBe('[{"a":1},false]');
    expect(seen('')).toBe('[null,true]');
    expect(seen('raw text')).toBe('["raw text",false]');
  });

  test.each([
    [undefined, 'null'],
    [() => 1, 'null'],
    [Number.NaN, 'null'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new Map([[1, 2]]), '{}'],
    [{ a: undefined }, '{}'],
  ])('a returned %p is stored as %s', (value, output) => {
    const outcome = generatorTurn(function* (ctx) {
      yield ctx.all([]);
      return value;
    });
    expect(outputOf(outcome)).toBe(output);
  });

  test('a returned value that JSON cannot print fails the instance', () => {
    const outcome = generatorTurn(function* (ctx) {
      yield ctx.all([]);
      return 1n;
    });
    expect(failureOf(outcome)).toMatch(/^TypeError: /);
  });
});

describe('misuse', () => {
  test.each<[string, (ctx: Ctx) => unknown, string]>([
    ['a race of one', (c) => c.race(c.scheduleTimer(1)), 'select currently supports exactly 2 tasks'],
    ['a race of three', (c) => c.race(c.all([]), c.all([]), c.all([])), 'select currently supports exactly 2 tasks'],
    ['a join in a join', (c) => c.all([c.all([])]), 'nested join/select inside join is not supported'],
    [
      'a race in a race',
      (c) => c.race(c.race(), c.scheduleTimer(1)),
      'nested join/select inside select is not supported',
    ],
    [
      'a reserved child id',
      (c) => c.scheduleSubOrchestrationWithId('C', 'sub::7'),
      "sub-orchestration instance id 'sub::7' starts with the reserved marker 'sub::', which the runtime uses to mark auto-generated child ids; use an id that does not begin with it",
    ],
  ])('%s is thrown, can be caught, and schedules nothing', (_what, make, text) => {
    const outcome = generatorTurn(tells(make));
    expect(JSON.parse(outputOf(outcome))).toEqual({ thrown: text, keys: [] });
    expect(kinds(outcome)).toEqual(['OrchestrationCompleted']);
  });

  test('a child id with the marker in the middle is accepted', () => {
    expect(kinds(generatorTurn(tells((c) => c.scheduleSubOrchestrationWithId('C', 'a::sub::b'))))).toEqual([
      'SubOrchestrationScheduled',
    ]);
  });

  test('tasks that a join cannot take are elements with an error, and schedule nothing', () => {
    const outcome = generatorTurn(
      tells((c) => c.all([c.newGuid(), c.utcNow(), c.startOrchestration('D', 'd'), c.continueAsNew(1)])),
    );
    const slot = { err: 'unsupported task in join' };
    expect(JSON.parse(outputOf(outcome))).toEqual({ value: [slot, slot, slot, slot] });
    expect(kinds(outcome)).toEqual(['OrchestrationCompleted']);
  });

  test('a task that a race cannot take wins at once; what stands before it is dropped, what behind it never begun', () => {
    const first = generatorTurn(tells((c) => c.race(c.newGuid(), c.scheduleActivity('A'))));
    expect(JSON.parse(outputOf(first))).toEqual({ value: { index: 0, value: 'unsupported task in select' } });
    expect(kinds(first)).toEqual(['OrchestrationCompleted']);
    const second = generatorTurn(tells((c) => c.race(c.scheduleActivity('A'), c.newGuid())));
    expect(JSON.parse(outputOf(second))).toEqual({ value: { index: 1, value: 'unsupported task in select' } });
    expect(kinds(second)).toEqual(['ActivityScheduled', 'ActivityCancelRequested', 'OrchestrationCompleted']);
  });

  const expected = [
    'activity, activityWithRetry, timer, waitEvent, subOrchestration, subOrchestrationWithId,',
    'subOrchestrationVersioned, subOrchestrationVersionedWithId, orchestration, orchestrationVersioned, newGuid,',
    'utcNow, continueAsNew, continueAsNewVersioned, dequeueEvent, getValueFromInstance, join, select',
  ]
    .join(' ')
    .split(', ')
    .map((name) => `\`${name}\``)
    .join(', ');

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'missing field `task`'],
    ['a function', () => 1, 'missing field `task`'],
    ['a promise', Promise.resolve(1), 'missing field `type`'],
    ['null', null, 'invalid type: null, expected internally tagged enum ScheduledTask'],
    ['a number', 42, 'invalid type: integer `42`, expected internally tagged enum ScheduledTask'],
    ['a text', 'abc', 'invalid type: string "abc", expected internally tagged enum ScheduledTask'],
    ['a boolean', true, 'invalid type: boolean `true`, expected internally tagged enum ScheduledTask'],
    ['a fraction', 1.5, 'invalid type: floating point `1.5`, expected internally tagged enum ScheduledTask'],
    ['an unknown type', { type: 'x' }, `unknown variant \`x\`, expected one of ${expected}`],
    ['a negative timer', { type: 'timer', delayMs: -5 }, 'invalid value: integer `-5`, expected u64'],
    ['a fractional timer', { type: 'timer', delayMs: 1.5 }, 'invalid type: floating point `1.5`, expected u64'],
    ['NaN', { type: 'timer', delayMs: Number.NaN }, 'invalid type: null, expected u64'],
    ['a text for a timer', { type: 'timer', delayMs: '5' }, 'invalid type: string "5", expected u64'],
    ['1e21', { type: 'timer', delayMs: 1e21 }, 'invalid type: floating point `1e+21`, expected u64'],
    ['no delay', { type: 'timer' }, 'missing field `delayMs`'],
    ['no name and no input', { type: 'activity' }, 'missing field `name`'],
    ['a function as input', { type: 'activity', name: 'a', input: () => 1 }, 'missing field `input`'],
    [
      'a number as tag',
      { type: 'activity', name: 'a', input: '1', tag: 5 },
      'invalid type: integer `5`, expected a string',
    ],
    ['no retry', { type: 'activityWithRetry', name: 'a', input: '1' }, 'missing field `retry`'],
    ['no maxAttempts', { type: 'activityWithRetry', name: 'a', input: '1', retry: {} }, 'missing field `maxAttempts`'],
    [
      'negative attempts',
      { type: 'activityWithRetry', name: 'a', input: '1', retry: { maxAttempts: -1 } },
      'invalid value: integer `-1`, expected u32',
    ],
    [
      'too many attempts',
      { type: 'activityWithRetry', name: 'a', input: '1', retry: { maxAttempts: 2 ** 32 } },
      'invalid value: integer `4294967296`, expected u32',
    ],
    [
      'a null policy',
      { type: 'activityWithRetry', name: 'a', input: '1', retry: null },
      'invalid type: null, expected struct RetryPolicyConfig',
    ],
    ['no tasks', { type: 'join' }, 'missing field `tasks`'],
    ['tasks that are none', { type: 'join', tasks: 5 }, 'invalid type: integer `5`, expected a sequence'],
    [
      'a bad task in a join',
      { type: 'join', tasks: [5] },
      'invalid type: integer `5`, expected internally tagged enum ScheduledTask',
    ],
    [
      'a missing task in a race',
      { type: 'select', tasks: [undefined] },
      'invalid type: null, expected internally tagged enum ScheduledTask',
    ],
    ['a child without id', { type: 'subOrchestrationVersionedWithId', name: 'x' }, 'missing field `instanceId`'],
  ])('R:FR-02 yielding %s fails the instance, uncatchably', (_what, yielded, text) => {
    const outcome = generatorTurn(tells(() => yielded));
    expect(failureOf(outcome)).toBe(`Invalid generator step result: ${text}`);
  });

  test.each([
    ['null for optional fields', { type: 'activity', name: 'echo', input: '1', tag: null, sessionId: null }],
    ['a type by number, as native takes it', { type: 2, delayMs: 5 }],
  ])('%s is accepted', (_what, yielded) => {
    expect(generatorTurn(tells(() => yielded)).result.kind).toBe('continued');
  });

  test('a policy that allows no attempt panics', () => {
    const none = { maxAttempts: 0 };
    for (const make of [
      (c: Ctx) => c.scheduleActivityWithRetry('A', 1, none),
      (c: Ctx) => c.all([c.scheduleActivityWithRetry('A', 1, none)]),
    ]) {
      expect(generatorTurn(tells(make)).metadata.output).toBe(
        'orchestration panicked: max_attempts must be at least 1',
      );
    }
  });

  test('an async function and an async generator fail with advice, and their rejections are nobody’s', () => {
    const asyncFunction = (async () => {
      throw new Error('lost');
    }) as never;
    expect(failureOf(generatorTurn(asyncFunction))).toMatch(
      /^TypeError: gen\.next is not a function: .*orchestration\(name, async/,
    );
    const asyncGenerator = async function* () {
      yield await Promise.reject(new Error('lost'));
    } as never;
    expect(failureOf(generatorTurn(asyncGenerator))).toMatch(/^Invalid generator step result: missing field `task`/);
    expect(failureOf(generatorTurn((() => 5) as never))).toMatch(/^TypeError: gen\.next is not a function/);
  });
});

describe('the life of a generator', () => {
  const cleaned: string[] = [];
  afterEach(() => void cleaned.splice(0));

  test('R:CN-16 finally blocks do not run at suspension, cancellation or continue-as-new', () => {
    const fn = function* (ctx: Ctx): Generator<unknown, unknown, unknown> {
      try {
        yield ctx.waitForEvent('e');
        return yield ctx.continueAsNew(1);
      } finally {
        cleaned.push('finally');
      }
    };
    expect(generatorTurn(fn).result.kind).toBe('continued');
    const history = started().subscribed('e');
    expect(generatorTurn(fn, { history, messages: [message.cancel()] }).result.kind).toBe('cancelled');
    expect(generatorTurn(fn, { history, messages: [message.raised('e')] }).result.kind).toBe('continuedAsNew');
    expect(cleaned).toEqual([]);
  });

  test('R:CA-01 R:CA-08 R:CA-10 R:CA-16 a chain of executions, each with its own history', () => {
    const { sim, output } = runToEnd(function* (ctx, n: number): Generator<unknown, unknown, unknown> {
      const value = (yield ctx.scheduleActivity('echo', Number.isInteger(n) ? n : 0)) as number;
      if (value < 5) return yield ctx.continueAsNew(value + 1);
      return { executions: ctx.executionId };
    });
    expect(output).toEqual({ executions: 6 });
    expect([...sim.histories.keys()]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(sim.histories.get(2)?.[0]).toMatchObject({ kind: 'OrchestrationStarted', input: '1', executionId: 2 });
    expect(sim.histories.get(1)?.at(-1)).toMatchObject({ kind: 'OrchestrationContinuedAsNew', input: '1' });
  });

  test('R:CA-05 a version for the next execution', () => {
    const outcome = generatorTurn(function* (ctx) {
      yield ctx.continueAsNewVersioned({ a: 1 }, '2.0.0');
    });
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'ContinueAsNew', version: '2.0.0', input: '{"a":1}' }]);
  });

  test('C-32 continue-as-new keeps everything that its turn decided', () => {
    const outcome = generatorTurn(
      function* (ctx) {
        yield ctx.startOrchestration('D', 'd-1');
        ctx.setValue('k', 'v');
        ctx.setCustomStatus('busy');
        yield ctx.continueAsNew(1);
      },
      { messages: [1, 2, 3, 4, 5].map((n) => message.queued('q', String(n))) },
    );
    expect(kinds(outcome)).toEqual([
      ...Array.from({ length: 5 }, () => 'ExternalEventPersistent'),
      'OrchestrationChained',
      'KeyValueSet',
      'CustomStatusUpdated',
      'OrchestrationContinuedAsNew',
    ]);
    expect(outcome.orchestratorItems).toMatchObject([
      {
        kind: 'ContinueAsNew',
        initialCustomStatus: 'busy',
        carryForwardEvents: [1, 2, 3, 4, 5].map((n) => ['q', `${n}`]),
      },
      { kind: 'StartOrchestration', instance: 'd-1' },
    ]);
  });

  test('a context that is used outside its turn throws', () => {
    let kept: Ctx | undefined;
    generatorTurn(function* (ctx) {
      kept = ctx;
      yield ctx.scheduleTimer(1);
    });
    expect(() => kept?.setValue('a', 'b')).toThrow(/outside its own turn/);
    expect(() => kept?.getValue('a')).toThrow(/outside its own turn/);
    expect(() => kept?.getCustomStatus()).toThrow(/outside its own turn/);
  });

  test('R:RF-05 traces are written once, with the names of the execution', () => {
    const traces: TraceRecord[] = [];
    const fn = function* (ctx: Ctx): Generator<unknown, unknown, unknown> {
      ctx.traceInfo('one');
      yield ctx.scheduleActivity('A');
      ctx.traceWarn({ toString: () => 'two' });
      yield ctx.scheduleActivity('B');
      ctx.traceError('three');
      ctx.traceDebug(4);
      return 1;
    };
    const history = started().activity('A', 'null');
    generatorTurn(fn, {}, traces);
    generatorTurn(fn, { history, messages: [message.activityDone(2)] }, traces);
    generatorTurn(
      fn,
      { history: history.activityDone(2).activity('B', 'null'), messages: [message.activityDone(4)] },
      traces,
    );
    expect(traces.map(({ level, message: text }) => [level, text])).toEqual([
      ['info', 'one'],
      ['warn', 'two'],
      ['error', 'three'],
      ['debug', '4'],
    ]);
    expect(traces[0]).toMatchObject({
      target: 'duroxide::orchestration',
      fields: { instance_id: 'inst', execution_id: '1', orchestration_name: 'Orch', orchestration_version: '1.0.0' },
    });
  });

  test('R:KV-03 R:KV-15 immediate methods coerce to text', () => {
    const outcome = generatorTurn(function* (ctx) {
      ctx.setValue(2 as never, {} as never);
      ctx.setValue('u', undefined as never);
      ctx.setCustomStatus(5 as never);
      yield ctx.all([]);
      return [ctx.getKvAllValues(), ctx.getKvAllKeys(), ctx.getKvLength(), ctx.getCustomStatus(), ctx.getValue('none')];
    });
    expect(JSON.parse(outputOf(outcome))).toEqual([
      { '2': '[object Object]', u: 'undefined' },
      ['2', 'u'],
      2,
      '5',
      null,
    ]);
  });

  test('R:KV-24 prune cuts fractions, and takes nothing for 0, negative and NaN', () => {
    const outcome = generatorTurn(
      function* (ctx) {
        yield ctx.all([]);
        return [0, -1, Number.NaN, 1.9, 2].map((cutoff) => ctx.pruneKvValuesUpdatedBefore(cutoff));
      },
      { kvSnapshot: new Map([['k', { value: 'v', lastUpdatedAtMs: 1 }]]) },
    );
    expect(outputOf(outcome)).toBe('[0,0,0,0,1]');
  });

  test('reset and clears', () => {
    const outcome = generatorTurn(function* (ctx) {
      ctx.setValue('a', '1');
      ctx.clearValue('a');
      ctx.clearAllValues();
      ctx.resetCustomStatus();
      yield ctx.scheduleTimer(1);
    });
    expect(written(outcome).slice(1, 4)).toEqual([
      { kind: 'KeyValueCleared', key: 'a' },
      { kind: 'KeyValuesCleared' },
      { kind: 'CustomStatusUpdated', status: null },
    ]);
  });

  test('a second execution has its own number and input', () => {
    const outcome = generatorTurn(
      function* (ctx, input: unknown) {
        yield ctx.all([]);
        return [ctx.executionId, input];
      },
      { executionId: 2, history: new HistoryBuilder(2).started({ input: '"two"' }) },
    );
    expect(outputOf(outcome)).toBe('[2,"two"]');
  });
});

import { describe, expect, test } from '@jest/globals';
import { orchestrationFailed } from '../../src/runtime/replay/failures.js';
import { isFailureOfCode } from '../../src/runtime/replay/limits.js';
import { message, orchestrationError, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok, value } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

type S = Parameters<Script>[0];

const PARENT = { instance: 'p', id: 7, executionId: 3 };

/** Acts and returns. */
const doing =
  (act: (s: S) => void, output = '"done"'): Script =>
  (s) =>
    (function* () {
      act(s);
      yield* value(0);
      return output;
    })();
/** Acts and waits. */
const doingAndWaiting =
  (act: (s: S) => void): Script =>
  (s) =>
    (function* () {
      act(s);
      return ok(yield* s.event('end'));
    })();

const text = (bytes: number, filler = 'x') => filler.repeat(bytes / Buffer.byteLength(filler));

describe('limits as native has them', () => {
  test.each([
    [
      'R:CS-09 custom status',
      (s: S, over: number) => s.port.customStatus.set(text(262_144 + over)),
      'Custom status size (262145 bytes) exceeds limit (262144 bytes)',
    ],
    [
      'R:ST-11 tag',
      (s: S, over: number) => void s.emit({ kind: 'scheduleActivity', name: 'a', input: '1', tag: text(256 + over) }),
      "Activity 'a' tag size (257 bytes) exceeds limit (256 bytes)",
    ],
    [
      'R:KV-20 value',
      (s: S, over: number) => s.port.keyValues.set('k', text(65_536 + over)),
      "KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)",
    ],
    [
      'R:KV-20 keys',
      (s: S, over: number) => {
        for (let i = 0; i < 150 + over; i++) s.port.keyValues.set(`k${i}`, '1');
      },
      'KV key count (151) exceeds limit (150)',
    ],
  ])('%s: the limit itself passes, one more fails', (_what, act, failure) => {
    expect(runTurn(doing((s) => act(s, 0))).result.kind).toBe('completed');
    const outcome = runTurn(doing((s) => act(s, 1)));
    expect(outcome.result).toEqual({ kind: 'failed', details: orchestrationError(failure) });
    expect(outcome.metadata).toMatchObject({ status: 'Failed', output: failure });
  });

  test('C-24 sizes are bytes of UTF-8', () => {
    const set = (bytes: number) => runTurn(doing((s) => s.port.keyValues.set('k', text(bytes, '😀'))));
    expect(set(65_536).result.kind).toBe('completed');
    expect(failureOf(set(65_540))).toBe("KV value for key 'k' (65540 bytes) exceeds limit (65536 bytes)");
  });

  test('the failure follows the end of the turn; the events stay; activities end as in a failure', () => {
    const outcome = runTurn(
      doing((s) => {
        s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
        s.port.keyValues.set('k', text(65_537));
      }),
    );
    expect(kinds(outcome)).toEqual([
      'ActivityScheduled',
      'KeyValueSet',
      'OrchestrationCompleted',
      'OrchestrationFailed',
      'ActivityCancelRequested',
    ]);
    expect(written(outcome).at(-1)).toMatchObject({ reason: 'orchestration_terminal_failed' });
  });

  test('a turn that would go on fails, with nothing enqueued', () => {
    const outcome = runTurn(
      doingAndWaiting((s) => {
        s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
        s.emit({ kind: 'createTimer', delayMs: 1 });
        s.port.customStatus.set(text(262_145));
      }),
    );
    expect(outcome.result.kind).toBe('failed');
    expect(outcome).toMatchObject({ workerItems: [], orchestratorItems: [], keepWarm: false });
  });

  test('D-05 R:T-04 the parent is told, and recorded detached starts are enqueued', () => {
    const outcome = runTurn(
      doing((s) => {
        s.detached('D', 'd-1');
        s.emit({ kind: 'startSubOrchestration', name: 'C', version: null, instance: null, input: '1' });
        s.port.customStatus.set(text(262_145));
      }),
      { start: { parent: PARENT } },
    );
    expect(outcome.orchestratorItems).toMatchObject([
      { kind: 'StartOrchestration', instance: 'd-1' },
      {
        kind: 'SubOrchFailed',
        parentInstance: 'p',
        parentId: 7,
        parentExecutionId: 3,
        details: { message: 'Custom status size (262145 bytes) exceeds limit (262144 bytes)' },
      },
    ]);
  });

  test('a continue-as-new over a limit does not continue', () => {
    const outcome = runTurn(function* (s) {
      s.port.customStatus.set(text(262_145));
      s.continueAsNew('1');
      return yield* never;
    });
    expect(outcome.result.kind).toBe('failed');
    expect(outcome.orchestratorItems).toEqual([]);
  });

  test('only the last status of a turn is measured', () => {
    const outcome = runTurn(
      doing((s) => {
        s.port.customStatus.set(text(262_145));
        s.port.customStatus.set('small');
      }),
    );
    expect(outcome.result.kind).toBe('completed');
  });

  describe('the number of keys', () => {
    const keys = (count: number) =>
      new Map(Array.from({ length: count }, (_, i) => [`old${i}`, { value: '1', lastUpdatedAtMs: 1 }]));

    test('D-13 keys of earlier turns of the execution are not counted, but warned about', () => {
      const code = doingAndWaiting((s) => {
        for (let i = 0; i < 100; i++) s.port.keyValues.set(`a${i}`, '1');
      });
      const first = runTurn(code);
      const second: Script = function* (s) {
        for (let i = 0; i < 100; i++) s.port.keyValues.set(`a${i}`, '1');
        ok(yield* s.event('end'));
        for (let i = 0; i < 100; i++) s.port.keyValues.set(`b${i}`, '1');
        return ok(yield* s.timer());
      };
      const outcome = runTurn(second, { history: first.historyDelta, messages: [message.raised('end')] });
      expect(outcome.result.kind).toBe('continued');
      expect(outcome.warnings).toContainEqual({ kind: 'tooManyKeys', count: 200 });
    });
    test('D-13 the next execution fails with the real number, whether it touches keys or not', () => {
      expect(
        failureOf(
          runTurn(
            doing(() => undefined),
            { kvSnapshot: keys(151) },
          ),
        ),
      ).toBe('KV key count (151) exceeds limit (150)');
    });
    test('R:KV-20 a clear-all counts from zero', () => {
      const outcome = runTurn(
        doing((s) => {
          s.port.keyValues.clearAll();
          s.port.keyValues.set('only', '1');
        }),
        { kvSnapshot: keys(150) },
      );
      expect(outcome.result.kind).toBe('completed');
    });
  });
});

describe('limits of ours: what breaks one is not stored', () => {
  const LONG = 'n'.repeat(1025);
  test.each([
    [
      'KV key',
      (s: S) => s.port.keyValues.set('k'.repeat(513), 'v'),
      `KV key '${'k'.repeat(64)}…' (513 bytes) exceeds limit (512 bytes)`,
    ],
    [
      'clear of a KV key that cannot exist',
      (s: S) => s.port.keyValues.clear('k'.repeat(3000)),
      `KV key '${'k'.repeat(64)}…' (3000 bytes) exceeds limit (512 bytes)`,
    ],
    [
      'session id',
      (s: S) => void s.emit({ kind: 'scheduleActivity', name: 'a', input: '1', sessionId: 's'.repeat(257) }),
      'Session id size (257 bytes) exceeds limit (256 bytes)',
    ],
    [
      'activity name',
      (s: S) => void s.emit({ kind: 'scheduleActivity', name: LONG, input: '1' }),
      'Activity name size (1025 bytes) exceeds limit (1024 bytes)',
    ],
    [
      'activity name with a NUL',
      (s: S) => void s.emit({ kind: 'scheduleActivity', name: 'a\u0000', input: '1' }),
      'Activity name is not well-formed text (U+0000 or an unpaired surrogate)',
    ],
    [
      'event name',
      (s: S) => void s.emit({ kind: 'waitExternal', name: LONG }),
      'Event name size (1025 bytes) exceeds limit (1024 bytes)',
    ],
    [
      'queue name',
      (s: S) => void s.emit({ kind: 'dequeueEvent', name: '\ud800' }),
      'Queue name is not well-formed text (U+0000 or an unpaired surrogate)',
    ],
    [
      'child name',
      (s: S) => void s.emit({ kind: 'startSubOrchestration', name: LONG, instance: null, version: null, input: '1' }),
      'Orchestration name size (1025 bytes) exceeds limit (1024 bytes)',
    ],
    [
      'child id',
      (s: S) => void s.emit({ kind: 'startSubOrchestration', name: 'C', instance: LONG, version: null, input: '1' }),
      'Sub-orchestration instance id size (1025 bytes) exceeds limit (1024 bytes)',
    ],
    [
      'empty child id',
      (s: S) => void s.emit({ kind: 'startSubOrchestration', name: 'C', instance: '', version: null, input: '1' }),
      'Sub-orchestration instance id is empty',
    ],
    [
      'detached id',
      (s: S) => s.detached('D', LONG),
      'Detached orchestration instance id size (1025 bytes) exceeds limit (1024 bytes)',
    ],
    ['empty detached id', (s: S) => s.detached('D', ''), 'Detached orchestration instance id is empty'],
    [
      'activity input',
      (s: S) => void s.emit({ kind: 'scheduleActivity', name: 'a', input: 'x'.repeat(1001) }),
      "Input of activity 'a' size (1001 bytes) exceeds limit (1000 bytes)",
    ],
    [
      'child input',
      (s: S) =>
        void s.emit({
          kind: 'startSubOrchestration',
          name: 'C',
          instance: null,
          version: null,
          input: 'é'.repeat(501),
        }),
      "Input of sub-orchestration 'C' size (1002 bytes) exceeds limit (1000 bytes)",
    ],
    [
      'detached input',
      (s: S) => s.detached('D', 'd', 'x'.repeat(1001)),
      "Input of detached orchestration 'D' size (1001 bytes) exceeds limit (1000 bytes)",
    ],
  ])('%s', (_what, act, failure) => {
    const outcome = runTurn(doingAndWaiting(act), { limits: { maxPayloadBytes: 1000 } });
    expect(failureOf(outcome)).toBe(failure);
    // Neither it nor what was decided after it: the ids go on without a gap.
    expect(kinds(outcome)).toEqual(['OrchestrationFailed']);
    expect(outcome.historyDelta.map(({ eventId }) => eventId)).toEqual([1, 2]);
    expect(isFailureOfCode(orchestrationFailed(failure))).toBe(false);
    expect(outcome).toMatchObject({ workerItems: [], orchestratorItems: [] });
  });

  test('a derived child id', () => {
    const outcome = runTurn(
      doingAndWaiting((s) => {
        s.emit({ kind: 'startSubOrchestration', name: 'C', instance: null, version: null, input: '1' });
      }),
      { instance: 'i'.repeat(2042) },
    );
    expect(failureOf(outcome)).toBe('Sub-orchestration instance id size (2050 bytes) exceeds limit (2048 bytes)');
  });

  test('C-24 an output that is too large: the instance fails once, and the output is not stored', () => {
    const outcome = runTurn(
      doing(() => undefined, 'x'.repeat(1001)),
      { limits: { maxPayloadBytes: 1000 } },
    );
    expect(kinds(outcome)).toEqual(['OrchestrationFailed']);
    expect(outcome.metadata).toMatchObject({
      status: 'Failed',
      output: 'Orchestration output size (1001 bytes) exceeds limit (1000 bytes)',
    });
  });

  test('a continue-as-new input that is too large', () => {
    const outcome = runTurn(
      function* (s) {
        s.continueAsNew('x'.repeat(1001));
        return yield* never;
      },
      { limits: { maxPayloadBytes: 1000 } },
    );
    expect(kinds(outcome)).toEqual(['OrchestrationFailed']);
  });

  test('a detached start that cannot be stored is not enqueued, the others are', () => {
    const outcome = runTurn(
      doing((s) => {
        s.detached('D', 'good');
        s.detached('D', '');
      }),
    );
    expect(outcome.orchestratorItems).toMatchObject([{ instance: 'good' }]);
  });

  test('an activity that cannot be stored gets no breadcrumb and is not cancelled', () => {
    const outcome = runTurn(doing((s) => void s.emit({ kind: 'scheduleActivity', name: 'a\u0000', input: '1' })));
    expect(kinds(outcome)).toEqual(['OrchestrationFailed']);
    expect(outcome.cancelledActivities).toEqual([]);
  });

  test('what others wrote is read and replayed, however long', () => {
    const key = 'k'.repeat(2000);
    const code: Script = function* (s) {
      s.port.keyValues.set(key, 'v');
      const first = ok(yield* s.activity(LONG, 'x'.repeat(5000)));
      s.port.keyValues.clear(key);
      return first;
    };
    const history = started().kvSet(key, 'v').activity(LONG, 'x'.repeat(5000)).activityDone(3, 'y'.repeat(900));
    const outcome = runTurn(code, { history, limits: { maxPayloadBytes: 1000 } });
    expect(outputOf(outcome)).toBe('y'.repeat(900));
  });
});

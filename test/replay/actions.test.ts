import { describe, expect, test } from '@jest/globals';
import { encodeEvent } from '../../src/wire/event.js';
import { message, started, T0 } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

const activityWith =
  (extra: { sessionId?: string; tag?: string }): Script =>
  (s) =>
    (function* () {
      return ok(yield* s.activity('A', '1', extra));
    })();

describe('actions and their events', () => {
  test('R:AE-01 an activity has its name and input, no session and no tag', () => {
    expect(written(runTurn(activityWith({})))).toEqual([{ kind: 'ActivityScheduled', name: 'A', input: '1' }]);
  });

  test('R:AE-02 R:AE-10 session and tag stand in event and item, and only where they are given', () => {
    const outcome = runTurn(activityWith({ sessionId: 's', tag: 't' }));
    expect(written(outcome)).toEqual([{ kind: 'ActivityScheduled', name: 'A', input: '1', sessionId: 's', tag: 't' }]);
    expect(outcome.workerItems).toMatchObject([{ sessionId: 's', tag: 't' }]);
    const plain = runTurn(activityWith({})).historyDelta.map(encodeEvent).join();
    expect(plain).not.toContain('session_id');
    expect(plain).not.toContain('tag');
  });

  test.each([
    ['R:AE-03', { sessionId: 's1' }, { sessionId: 's2' }],
    ['R:AE-03', {}, { sessionId: 's2' }],
    ['R:AE-11', {}, { tag: 't' }],
    ['R:AE-12 R:C-30', { tag: 't' }, { tag: 'u' }],
    ['R:AE-13', { tag: 't' }, {}],
  ])('%s history %j, code %j: nondeterminism', (_id, before, now) => {
    const outcome = runTurn(activityWith(now), { history: started().activity('A', '1', before) });
    expect(failureOf(outcome)).toMatch(/^schedule mismatch: action=CallActivity \{.*vs event=ActivityScheduled \{/);
  });

  test('R:AE-04 R:TM-09 a timer is absolute, measured from its own call', () => {
    const code: Script = function* (s) {
      ok(yield* s.timer(100));
      return ok(yield* s.timer(50));
    };
    const outcome = runTurn(code, {
      history: started().timer(T0),
      messages: [message.timerFired(2)],
      nowMs: T0 + 7_000,
    });
    expect(written(outcome)).toMatchObject([{ kind: 'TimerFired' }, { kind: 'TimerCreated', fireAtMs: T0 + 7_050 }]);
  });

  test('R:AE-05 R:AE-06 R:AE-07 R:AE-08 mixed actions of a turn, one event each, in the order of the calls', () => {
    const outcome = runTurn(function* (s) {
      s.detached('D', 'd-1');
      s.port.keyValues.set('k', 'v');
      s.port.customStatus.set('busy');
      const branches = [s.event('e'), s.activity('A'), s.child('C'), s.timer(), s.dequeue('q')];
      return (yield* s.all(branches)).map(ok).join();
    });
    expect(written(outcome)).toMatchObject([
      { kind: 'OrchestrationChained', name: 'D', instance: 'd-1' },
      { kind: 'KeyValueSet' },
      { kind: 'CustomStatusUpdated' },
      { kind: 'ExternalSubscribed', name: 'e' },
      { kind: 'ActivityScheduled' },
      { kind: 'SubOrchestrationScheduled', instance: 'sub::7' },
      { kind: 'TimerCreated' },
      { kind: 'ExternalSubscribedPersistent', name: 'q' },
    ]);
    expect(outcome.orchestratorItems.map(({ kind }) => kind)).toEqual([
      'StartOrchestration',
      'StartOrchestration',
      'TimerFired',
    ]);
  });

  test('R:AE-09 a detached start before an activity replays', () => {
    const code: Script = function* (s) {
      s.detached('D', 'd-1');
      return ok(yield* s.activity('A'));
    };
    const outcome = runTurn(code, { history: started().chained('D', 'd-1').activity('A').activityDone(3, '"r"') });
    expect(outputOf(outcome)).toBe('"r"');
  });

  test('R:AE-14 on replay the id of a child comes from history', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.child('C'), s.timer());
      return String(index);
    };
    const outcome = runTurn(code, {
      history: started().child('C', 'sub::99').timer(),
      messages: [message.timerFired(3)],
    });
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'CancelInstance', instance: 'inst::sub::99' }]);
  });

  test('R:AE-15 an explicit child id is kept and addressed as it is', () => {
    const outcome = runTurn(function* (s) {
      return ok(yield* s.child('C', 'my-child'));
    });
    expect(written(outcome)).toMatchObject([{ instance: 'my-child' }]);
    expect(outcome.orchestratorItems).toMatchObject([{ instance: 'my-child', parentInstance: 'inst' }]);
  });

  test.each([
    [1, ['sub::2', 'sub::3', 'sub::4']],
    [5, ['sub::5_2', 'sub::5_3', 'sub::5_4']],
  ])('R:AE-16 R:T-09 children of execution %d get distinct ids from their events', (executionId, ids) => {
    const outcome = runTurn(
      function* (s) {
        return (yield* s.all([s.child('C'), s.child('C'), s.child('C')])).map(ok).join();
      },
      { executionId },
    );
    expect(written(outcome)).toMatchObject(ids.map((instance) => ({ instance })));
  });

  test('R:T-10 children are told the execution of their parent', () => {
    const outcome = runTurn(
      function* (s) {
        return ok(yield* s.child('C'));
      },
      { executionId: 4 },
    );
    expect(outcome.orchestratorItems).toMatchObject([{ parentExecutionId: 4, executionId: 1 }]);
  });

  test('a lost character of a raw input is lost before matching, so that replay meets what was stored', () => {
    const code: Script = function* (s) {
      return ok(yield* s.activity('A', 'a\u0000\ud800', { sessionId: 's\u0000', tag: 't\udc00' }));
    };
    const first = runTurn(code);
    expect(written(first)).toMatchObject([{ input: 'a\uFFFD\uFFFD', sessionId: 's\uFFFD', tag: 't\uFFFD' }]);
    expect(kinds(runTurn(code, { history: first.historyDelta }))).toEqual([]);
  });

  test('what code does after it has returned is not its decision', () => {
    const outcome = runTurn({
      driver: (port) => ({
        start: () => {
          port.done({ kind: 'output', output: '"first"' });
          port.emit({ kind: 'scheduleActivity', name: 'late', input: '1' });
          port.done({ kind: 'output', output: '"second"' });
        },
        deliver: () => undefined,
      }),
    });
    expect(outputOf(outcome)).toBe('"first"');
    expect(kinds(outcome)).toEqual(['OrchestrationCompleted']);
  });
});

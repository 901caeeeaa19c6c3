import { describe, expect, test } from '@jest/globals';
import { message, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

type S = Parameters<Script>[0];

/** A race whose winner is told by its index, then a wait that keeps the instance going. */
const raceThenWait =
  (...branches: ((s: S) => ReturnType<S['activity']>)[]): Script =>
  (s) =>
    (function* () {
      const { index } = yield* s.race(...branches.map((branch) => branch(s)));
      ok(yield* s.event('end'));
      return String(index);
    })();

const activityOrTimer = raceThenWait(
  (s) => s.activity('A'),
  (s) => s.timer(),
);
const childOrTimer = raceThenWait(
  (s) => s.child('C'),
  (s) => s.timer(),
);

describe('dropped tasks', () => {
  test('R:DF-01 R:DF-07 R:DF-13 R:DF-16 R:RT-13 a timer wins: the activity is cancelled, after the new schedules', () => {
    const outcome = runTurn(activityOrTimer, {
      history: started().activity('A').timer(),
      messages: [message.timerFired(3)],
    });
    expect(written(outcome)).toMatchObject([
      { kind: 'TimerFired' },
      { kind: 'ExternalSubscribed', name: 'end' },
      { kind: 'ActivityCancelRequested', reason: 'dropped_future', source: 2 },
    ]);
    expect(outcome.cancelledActivities).toEqual([{ instance: 'inst', executionId: 1, activityId: 2 }]);
  });

  test('R:DF-02 R:DF-04 R:DF-06 an activity wins: the timer leaves no trace, the activity is not cancelled', () => {
    const outcome = runTurn(activityOrTimer, {
      history: started().activity('A').timer(),
      messages: [message.activityDone(2)],
    });
    expect(kinds(outcome)).toEqual(['ActivityCompleted', 'ExternalSubscribed']);
    expect(outcome.cancelledActivities).toEqual([]);
  });

  test('R:DF-03 R:DF-08 R:DF-29 all losing activities are cancelled, tagged or not', () => {
    const code = raceThenWait(
      (s) => s.activity('A'),
      (s) => s.timer(),
      (s) => s.activity('B', '1', { tag: 'gpu' }),
    );
    const outcome = runTurn(code, {
      history: started().activity('A').timer().activity('B', '1', { tag: 'gpu' }),
      messages: [message.timerFired(3)],
    });
    expect(outcome.cancelledActivities.map(({ activityId }) => activityId)).toEqual([2, 4]);
  });

  test('R:DF-05 scheduled and dropped in one turn: schedule and breadcrumb in the same delta', () => {
    const outcome = runTurn(function* (s) {
      const token = s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
      s.drop(token);
      return ok(yield* s.event('end'));
    });
    expect(written(outcome)).toEqual([
      { kind: 'ActivityScheduled', name: 'A', input: '1' },
      { kind: 'ExternalSubscribed', name: 'end' },
      { kind: 'ActivityCancelRequested', reason: 'dropped_future', source: 2 },
    ]);
    expect(outcome.workerItems).toHaveLength(1); // both go into one transaction, which removes the pair
    expect(outcome.cancelledActivities).toHaveLength(1);
  });

  test.each([
    ['R:DF-09 R:DF-10 R:DF-24', null, 'inst::sub::2'],
    ['R:DF-17 R:DF-25', 'explicit', 'explicit'],
  ])('%s a losing child is cancelled under its full id', (_id, instance, full) => {
    const code = raceThenWait(
      (s) => s.child('C', instance),
      (s) => s.timer(),
    );
    const outcome = runTurn(code, {
      history: started()
        .child('C', instance ?? 'sub::2')
        .timer(),
      messages: [message.timerFired(3)],
    });
    expect(written(outcome)).toContainEqual({
      kind: 'SubOrchestrationCancelRequested',
      reason: 'dropped_future',
      source: 2,
    });
    expect(outcome.orchestratorItems).toEqual([
      { kind: 'CancelInstance', instance: full, reason: 'parent dropped sub-orchestration future' },
    ]);
  });

  test('R:EV-07 R:QE-07 losing waits get breadcrumbs and nothing else', () => {
    const code = raceThenWait(
      (s) => s.event('e'),
      (s) => s.dequeue('q'),
      (s) => s.timer(),
    );
    const outcome = runTurn(code, {
      history: started().subscribed('e').dequeued('q').timer(),
      messages: [message.timerFired(4)],
    });
    expect(written(outcome)).toMatchObject([
      { kind: 'TimerFired' },
      // D-26: the breadcrumb of a mailbox wait stands where it was dropped.
      { kind: 'ExternalSubscribedPersistentCancelled', reason: 'dropped_future', source: 3 },
      { kind: 'ExternalSubscribed', name: 'end' },
      { kind: 'ExternalSubscribedCancelled', reason: 'dropped_future', source: 2 },
    ]);
    expect(outcome).toMatchObject({ cancelledActivities: [], orchestratorItems: [] });
  });

  test('breadcrumbs of a turn are sorted by kind, then by id', () => {
    const code = raceThenWait(
      (s) => s.event('e'),
      (s) => s.child('C', 'x'),
      (s) => s.activity('B'),
      (s) => s.child('C', 'y'),
      (s) => s.activity('A'),
      (s) => s.timer(),
    );
    const history = started().subscribed('e').child('C', 'x').activity('B').child('C', 'y').activity('A').timer();
    const outcome = runTurn(code, { history, messages: [message.timerFired(7)] });
    expect(outcome.historyDelta.slice(2).map(({ kind, sourceEventId }) => [kind, sourceEventId])).toEqual([
      ['ActivityCancelRequested', 4],
      ['ActivityCancelRequested', 6],
      ['SubOrchestrationCancelRequested', 3],
      ['SubOrchestrationCancelRequested', 5],
      ['ExternalSubscribedCancelled', 2],
    ]);
  });

  test('R:DF-11 R:DF-18 R:DF-19 a replay repeats the drops and neither breadcrumbs nor side effects', () => {
    const stored = started().activity('A').timer().timerFired(3).subscribed('end').activityCancelled(2);
    const outcome = runTurn(activityOrTimer, { history: stored });
    expect(outcome).toMatchObject({ historyDelta: [], cancelledActivities: [] });

    const child = started().child('C').timer().timerFired(3).subscribed('end').childCancelled(2);
    expect(runTurn(childOrTimer, { history: child })).toMatchObject({ historyDelta: [], orchestratorItems: [] });
  });

  test('R:DF-12 a completed child is never cancelled', () => {
    const outcome = runTurn(childOrTimer, { history: started().child('C').timer(), messages: [message.childDone(2)] });
    expect(outcome.orchestratorItems).toEqual([]);
  });

  test.each([
    [
      'R:DF-14 activity',
      activityOrTimer,
      started().activity('A').timer().timerFired(3).subscribed('end').activityCancelled(2),
      message.activityDone(2),
    ],
    [
      'R:DF-14 child',
      childOrTimer,
      started().child('C').timer().timerFired(3).subscribed('end').childCancelled(2),
      message.childDone(2),
    ],
  ])('%s: an outcome after its breadcrumb is stored and seen by nobody', (_what, code, history, item) => {
    const outcome = runTurn(code, { history, messages: [item] });
    expect(outcome.result.kind).toBe('continued');
    expect(outcome.historyDelta).toHaveLength(1);
  });

  test.each([
    [
      'R:DF-15 activities',
      started().activity('A').activityCancelled(2),
      'cancellation mismatch (activities): baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}',
    ],
    [
      'R:DF-15 sub-orchestrations',
      started().child('C').childCancelled(2),
      'cancellation mismatch (sub-orchestrations): baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}',
    ],
    [
      'R:DF-15 external waits',
      started().subscribed('e').subscriptionCancelled(2),
      'cancellation mismatch (external waits): baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}',
    ],
    [
      'R:DF-15 persistent waits',
      started().dequeued('q').dequeueCancelled(2),
      'cancellation mismatch (persistent waits): baseline_dropped_future_cancel_requests={2} ctx_cancelled_in_replayed_segment={}',
    ],
  ])('%s: code that no longer drops is nondeterministic', (what, history, text) => {
    const code: Script = (s) =>
      (function* () {
        const branch = what.includes('activities')
          ? s.activity('A')
          : what.includes('orch')
            ? s.child('C')
            : what.includes('external')
              ? s.event('e')
              : s.dequeue('q');
        return ok(yield* branch);
      })();
    expect(failureOf(runTurn(code, { history }))).toBe(text);
  });

  test('R:DF-20 a new drop beside stored ones is allowed', () => {
    const code: Script = function* (s) {
      const loose = s.emit({ kind: 'scheduleActivity', name: 'L', input: '1' });
      yield* s.race(s.activity('A'), s.timer());
      s.drop(loose);
      return ok(yield* s.event('end'));
    };
    const history = started().activity('L').activity('A').timer().timerFired(4).subscribed('end').activityCancelled(3);
    const outcome = runTurn(code, { history });
    expect(written(outcome)).toEqual([{ kind: 'ActivityCancelRequested', reason: 'dropped_future', source: 2 }]);
  });

  test('R:DF-21 a stored drop that is missing beside others is nondeterministic', () => {
    const history = started().activity('A').timer().timerFired(3).subscribed('end');
    history.activityCancelled(2).activity('Z').activityCancelled(7);
    const code: Script = function* (s) {
      yield* s.race(s.activity('A'), s.timer());
      yield* s.all([s.event('end'), s.activity('Z')]);
      return '';
    };
    expect(failureOf(runTurn(code, { history }))).toBe(
      'cancellation mismatch (activities): baseline_dropped_future_cancel_requests={2, 7} ctx_cancelled_in_replayed_segment={2}',
    );
  });

  test('finishing early with a stored drop is a mismatch', () => {
    const history = started().activity('A').timer().timerFired(3).activityCancelled(2);
    const code: Script = function* (s) {
      yield* s.all([]);
      return '"early"';
    };
    expect(failureOf(runTurn(code, { history }))).toMatch(/^cancellation mismatch \(activities\)/);
  });

  test.each([
    [
      'R:DF-22',
      activityOrTimer,
      started().activity('A').timer().timerFired(3).subscribed('end').activityCancelled(2).activityCancelled(2),
    ],
    [
      'R:DF-23',
      childOrTimer,
      started().child('C').timer().timerFired(3).subscribed('end').childCancelled(2).childCancelled(2),
    ],
  ])('%s breadcrumbs stored twice do no harm', (_id, code, history) => {
    expect(runTurn(code, { history })).toMatchObject({ result: { kind: 'continued' }, historyDelta: [] });
  });

  test('R:DF-28 a branch of several steps drops what it is at', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(
        s.block(function* () {
          ok(yield* s.activity('first'));
          ok(yield* s.activity('second'));
          return '';
        }),
        s.block(function* () {
          ok(yield* s.timer());
          return '';
        }),
      );
      ok(yield* s.event('end'));
      return String(index);
    };
    const history = started().activity('first').timer().activityDone(2).activity('second');
    const outcome = runTurn(code, { history, messages: [message.timerFired(3)] });
    expect(outcome.cancelledActivities.map(({ activityId }) => activityId)).toEqual([5]);
  });

  test('R:DF-30 a turn that suspends drops nothing', () => {
    const outcome = runTurn(activityOrTimer);
    expect(kinds(outcome)).toEqual(['ActivityScheduled', 'TimerCreated']);
  });

  test('a drop after the result is ignored', () => {
    const outcome = runTurn(
      function* (s) {
        let token = 0;
        const branch = s.block(function* () {
          token = s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
          return yield* s.timer();
        });
        ok(yield* branch);
        s.drop(token);
        return ok(yield* s.event('end'));
      },
      { history: started().activity('A').timer().activityDone(2), messages: [message.timerFired(3)] },
    );
    expect(outcome.cancelledActivities).toEqual([]);
  });

  test('a completed turn records the drops before its end', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.activity('A'), s.timer());
      return String(index);
    };
    const outcome = runTurn(code, { history: started().activity('A').timer(), messages: [message.timerFired(3)] });
    expect(outputOf(outcome)).toBe('1');
    expect(kinds(outcome)).toEqual(['TimerFired', 'ActivityCancelRequested', 'OrchestrationCompleted']);
    expect(outcome.cancelledActivities).toHaveLength(1);
  });

  test('D-07 R:T-05 a race lost in the turn of a continue-as-new is recorded, its child and activity cancelled', () => {
    const code: Script = function* (s) {
      yield* s.race(s.child('C'), s.activity('A'), s.timer());
      s.continueAsNew('1');
      return yield* never;
    };
    const outcome = runTurn(code, {
      history: started().child('C').activity('A').timer(),
      messages: [message.timerFired(4)],
    });
    expect(kinds(outcome)).toEqual([
      'TimerFired',
      'ActivityCancelRequested',
      'SubOrchestrationCancelRequested',
      'OrchestrationContinuedAsNew',
    ]);
    expect(outcome.orchestratorItems.map(({ kind }) => kind)).toEqual(['ContinueAsNew', 'CancelInstance']);
    expect(outcome.cancelledActivities).toMatchObject([{ activityId: 3 }]);
  });

  test('a cancelled instance records no drops: its children are cancelled anyway', () => {
    const outcome = runTurn(childOrTimer, {
      history: started().child('C').timer(),
      messages: [message.timerFired(3), message.cancel('stop')],
    });
    expect(kinds(outcome)).not.toContain('SubOrchestrationCancelRequested');
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'CancelInstance', reason: 'parent canceled' }]);
  });
});

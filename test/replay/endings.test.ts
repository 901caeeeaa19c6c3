import { describe, expect, test } from '@jest/globals';
import { HistoryBuilder, message, orchestrationError, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok, ScriptFailure, value } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

const PARENT = { parentInstance: 'p', parentId: 7, parentExecutionId: 3 };

/** One of each kind of open work, then a wait for the event `end`, whose data says how to end. */
const openWork: Script = function* (s) {
  s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
  s.emit({ kind: 'startSubOrchestration', name: 'C', version: null, instance: null, input: '1' });
  s.emit({ kind: 'startSubOrchestration', name: 'C', version: null, instance: 'explicit', input: '1' });
  s.emit({ kind: 'createTimer', delayMs: 1 });
  s.emit({ kind: 'waitExternal', name: 'e' });
  s.emit({ kind: 'dequeueEvent', name: 'q' });
  const how = ok(yield* s.event('end'));
  if (how === 'fail') throw new ScriptFailure('broken');
  if (how === 'again') {
    s.continueAsNew('"n"');
    return yield* never;
  }
  if (how === 'panic') {
    s.panic('no way on');
    return yield* never;
  }
  return '"out"';
};
const openHistory = (overrides = {}) =>
  started(overrides)
    .activity('A')
    .child('C')
    .child('C', 'explicit')
    .timer()
    .subscribed('e')
    .dequeued('q')
    .subscribed('end');

const SUBSCRIPTIONS = [
  { kind: 'ExternalSubscribedCancelled', reason: 'orchestration_terminal', source: 6 },
  { kind: 'ExternalSubscribedPersistentCancelled', reason: 'orchestration_terminal', source: 7 },
];

describe('how executions end', () => {
  test('R:CN-14 R:EV-08 R:QE-08 completion: open subscriptions, the end, open activities', () => {
    const outcome = runTurn(openWork, { history: openHistory(), messages: [message.raised('end', 'fine')] });
    expect(written(outcome)).toEqual([
      { kind: 'ExternalEvent', name: 'end', data: 'fine' },
      ...SUBSCRIPTIONS,
      { kind: 'OrchestrationCompleted', output: '"out"' },
      { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_completed', source: 2 },
    ]);
    expect(outcome.historyDelta.map(({ eventId }) => eventId)).toEqual([9, 10, 11, 12, 13]);
    expect(outcome.cancelledActivities).toEqual([{ instance: 'inst', executionId: 1, activityId: 2 }]);
    expect(outcome.orchestratorItems).toEqual([]); // children run on
    expect(outcome.warnings).toEqual([{ kind: 'endedWithOpenActivities', eventIds: [2] }]);
    expect(outcome.metadata).toMatchObject({ status: 'Completed', output: '"out"' });
    expect(outcome.keepWarm).toBe(false);
  });

  test('R:CN-15 R:FF-07 failure: the same with another reason', () => {
    const outcome = runTurn(openWork, { history: openHistory(), messages: [message.raised('end', 'fail')] });
    expect(written(outcome).slice(-4)).toEqual([
      ...SUBSCRIPTIONS,
      { kind: 'OrchestrationFailed', details: orchestrationError('broken') },
      { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_failed', source: 2 },
    ]);
    expect(outcome.metadata).toMatchObject({ status: 'Failed', output: 'broken' });
    expect(outcome.warnings).toEqual([]); // what stands beside a failure is no mistake
  });

  test('R:CA-15 continue-as-new: the same with another reason, and the next execution’s message', () => {
    const outcome = runTurn(openWork, { history: openHistory(), messages: [message.raised('end', 'again')] });
    expect(written(outcome).slice(-4)).toEqual([
      ...SUBSCRIPTIONS,
      { kind: 'OrchestrationContinuedAsNew', input: '"n"' },
      { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_continued_as_new', source: 2 },
    ]);
    expect(outcome.orchestratorItems).toEqual([
      {
        kind: 'ContinueAsNew',
        instance: 'inst',
        orchestration: 'Orch',
        input: '"n"',
        version: null,
        carryForwardEvents: [],
      },
    ]);
  });

  test('R:FF-13 R:FF-14 R:FF-15 panic: the same as a failure', () => {
    const outcome = runTurn(openWork, { history: openHistory(), messages: [message.raised('end', 'panic')] });
    expect(outcome.result).toMatchObject({
      details: { application: { kind: 'Panicked' }, message: 'no way on', retryable: false },
    });
    expect(outcome.metadata.output).toBe('orchestration panicked: no way on');
    expect(kinds(outcome).slice(-4)).toEqual([
      'ExternalSubscribedCancelled',
      'ExternalSubscribedPersistentCancelled',
      'OrchestrationFailed',
      'ActivityCancelRequested',
    ]);
  });

  test('nothing that was emitted in the turn of a panic is kept', () => {
    const outcome = runTurn(function* (s) {
      s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
      s.detached('D', 'd');
      s.panic('no');
      return yield* never;
    });
    expect(kinds(outcome)).toEqual(['OrchestrationFailed']);
    expect(outcome.orchestratorItems).toEqual([]);
  });

  test('R:FF-06 an immediate failure leaves the start and the failure only', () => {
    const outcome = runTurn(function* () {
      yield* value(0);
      throw new ScriptFailure('at once');
    });
    expect(outcome.historyDelta.map(({ kind }) => kind)).toEqual(['OrchestrationStarted', 'OrchestrationFailed']);
  });

  test.each([
    ['fine', { kind: 'SubOrchCompleted', ...PARENT, result: '"out"' }],
    ['fail', { kind: 'SubOrchFailed', ...PARENT, details: orchestrationError('broken') }],
  ])('R:SO-01 R:T-10 the parent hears of the end (%s) under its own execution', (how, item) => {
    const outcome = runTurn(openWork, { history: openHistory(PARENT), messages: [message.raised('end', how)] });
    expect(outcome.orchestratorItems).toEqual([item]);
  });

  test.each([
    [undefined, 1],
    [9, 9],
  ])('an old record names no execution of the parent: the one looked up (%p), at last the first', (given, told) => {
    const parent = { parentInstance: 'p', parentId: 7 };
    const outcome = runTurn(openWork, {
      history: openHistory(parent),
      messages: [message.raised('end', 'fine')],
      ...(given !== undefined && { parentExecutionId: given }),
    });
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'SubOrchCompleted', parentExecutionId: told }]);
  });

  test('R:CA-15 the parent hears nothing of a continue-as-new, which carries the link on', () => {
    const outcome = runTurn(openWork, { history: openHistory(PARENT), messages: [message.raised('end', 'again')] });
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'ContinueAsNew', ...PARENT }]);
  });

  test('terminal breadcrumbs go by history, not by what the code saw', () => {
    // Two waits of one mailbox, one message: the first is satisfied, the second is not.
    const outcome = runTurn(
      function* (s) {
        s.emit({ kind: 'dequeueEvent', name: 'q' });
        s.emit({ kind: 'dequeueEvent', name: 'q' });
        s.emit({ kind: 'waitExternal', name: 'e' });
        s.emit({ kind: 'waitExternal', name: 'e' });
        ok(yield* s.timer());
        return '""';
      },
      {
        history: started().dequeued('q').dequeued('q').subscribed('e').subscribed('e').timer().message('q').event('e'),
        messages: [message.timerFired(6)],
      },
    );
    expect(written(outcome).slice(1, -1)).toEqual([
      { kind: 'ExternalSubscribedCancelled', reason: 'orchestration_terminal', source: 5 },
      { kind: 'ExternalSubscribedPersistentCancelled', reason: 'orchestration_terminal', source: 3 },
    ]);
  });

  test('an event before the subscription satisfies nobody', () => {
    const outcome = runTurn(
      function* (s) {
        s.emit({ kind: 'waitExternal', name: 'e' });
        ok(yield* s.timer());
        return '""';
      },
      { history: started().event('e').subscribed('e').timer(), messages: [message.timerFired(4)] },
    );
    expect(kinds(outcome)).toContain('ExternalSubscribedCancelled');
  });
});

describe('cancellation of instances', () => {
  const cancelled = {
    kind: 'Application',
    application: { kind: 'Cancelled', reason: 'stop' },
    message: '',
    retryable: false,
  };

  test('R:CN-01 R:CN-04 R:CN-06 R:CN-07 a running instance fails, its activities and children are cancelled', () => {
    const outcome = runTurn(openWork, { history: openHistory(PARENT), messages: [message.cancel('stop')] });
    expect(outcome.result).toEqual({ kind: 'cancelled', reason: 'stop' });
    expect(written(outcome)).toEqual(
      [
        { kind: 'OrchestrationCancelRequested', reason: 'stop' },
        ...SUBSCRIPTIONS,
        { kind: 'ExternalSubscribedCancelled', reason: 'orchestration_terminal', source: 8 },
        { kind: 'OrchestrationFailed', details: cancelled },
        { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_failed', source: 2 },
      ].sort((a, b) => order(a) - order(b)),
    );
    expect(outcome.cancelledActivities).toMatchObject([{ activityId: 2 }]);
    expect(outcome.orchestratorItems).toEqual([
      { kind: 'CancelInstance', instance: 'inst::sub::3', reason: 'parent canceled' },
      { kind: 'CancelInstance', instance: 'explicit', reason: 'parent canceled' },
      { kind: 'SubOrchFailed', ...PARENT, details: cancelled },
    ]);
    expect(outcome.metadata).toMatchObject({ status: 'Failed', output: 'canceled: stop' });
  });

  test('R:CN-02 a stored request cancels again on replay', () => {
    const outcome = runTurn(openWork, { history: openHistory().cancelRequested('before') });
    expect(outcome.result).toEqual({ kind: 'cancelled', reason: 'before' });
  });

  test.each([
    ['R:CN-03 a result', 'fine'],
    ['an error', 'fail'],
    ['R:CA-02 a continue-as-new', 'again'],
  ])('%s of the same turn gives way', (_what, how) => {
    const outcome = runTurn(openWork, {
      history: openHistory(),
      messages: [message.raised('end', how), message.cancel('stop')],
    });
    expect(outcome.result).toEqual({ kind: 'cancelled', reason: 'stop' });
  });

  test('a panic does not give way, and leaves the children alone', () => {
    const outcome = runTurn(openWork, {
      history: openHistory(),
      messages: [message.raised('end', 'panic'), message.cancel('stop')],
    });
    expect(outcome.result.kind).toBe('failed');
    expect(outcome.orchestratorItems).toEqual([]);
  });

  test.each([
    ['R:CN-05 R:CN-12 a second request in a batch', openHistory(), [message.cancel('first'), message.cancel('second')]],
    ['R:CN-05 a request after a stored one', openHistory().cancelRequested('first'), [message.cancel('second')]],
  ])('%s: the first reason stays', (_what, history, messages) => {
    const outcome = runTurn(openWork, { history, messages });
    expect(outcome.result).toEqual({ kind: 'cancelled', reason: 'first' });
    const all = [...history.events, ...outcome.historyDelta];
    expect(all.filter(({ kind }) => kind === 'OrchestrationCancelRequested')).toHaveLength(1);
  });

  test('R:CN-09 the failure of a cancelled child reads as such', () => {
    const outcome = runTurn(
      function* (s) {
        const child = yield* s.child('C');
        return child.text;
      },
      {
        history: started().child('C'),
        messages: [message.childFailed(2, { ...cancelled, kind: 'Application' } as never)],
      },
    );
    expect(outputOf(outcome)).toBe('canceled: stop');
  });

  test('R:CN-13 a cancel in the batch of the start wins in the first turn', () => {
    const outcome = runTurn(
      function* (s) {
        return ok(yield* s.child('C'));
      },
      { messages: [message.cancel('')] },
    );
    expect(outcome.metadata.output).toBe('canceled: ');
    expect(outcome.workerItems).toEqual([]);
    // The child is recorded and addressed, though it was never started.
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'CancelInstance', instance: 'inst::sub::3' }]);
  });

  test('R:CN-10 a second execution is cancelled by itself', () => {
    const history = new HistoryBuilder(2).started().activity('A');
    const outcome = runTurn(
      function* (s) {
        return ok(yield* s.activity('A'));
      },
      { executionId: 2, history, messages: [message.cancel()] },
    );
    expect(outcome).toMatchObject({ executionId: 2, result: { kind: 'cancelled' } });
    expect(outcome.cancelledActivities).toMatchObject([{ executionId: 2 }]);
  });

  test('R:CN-21 a system call that is open is cancelled like any activity', () => {
    const history = started().activity('__duroxide_syscall:new_guid', '');
    const outcome = runTurn(
      function* (s) {
        return ok(yield* s.activity('__duroxide_syscall:new_guid', ''));
      },
      { history, messages: [message.cancel()] },
    );
    expect(outcome.cancelledActivities).toMatchObject([{ activityId: 2 }]);
  });

  test('children with an outcome or an own cancellation are not told', () => {
    const code: Script = function* (s) {
      yield* s.race(s.child('C', 'lost'), s.timer());
      s.emit({ kind: 'startSubOrchestration', name: 'C', version: null, instance: 'done', input: '1' });
      return ok(yield* s.event('end'));
    };
    const history = started().child('C', 'lost').timer().timerFired(3).child('C', 'done').subscribed('end');
    const outcome = runTurn(code, {
      history: history.childCancelled(2).childDone(5),
      messages: [message.cancel()],
    });
    expect(outcome.orchestratorItems).toEqual([]);
  });
});

describe('sagas', () => {
  const saga: Script = function* (s) {
    const paid = yield* s.activity('pay');
    if (!paid.ok) throw new ScriptFailure(paid.text);
    const shipped = yield* s.activity('ship');
    if (shipped.ok) return 'ok';
    ok(yield* s.activity('refund'));
    return 'rolled back';
  };

  test('R:FF-08 a failed step is compensated', () => {
    const history = started().activity('pay').activityDone(2).activity('ship').activityFailed(4).activity('refund');
    expect(outputOf(runTurn(saga, { history, messages: [message.activityDone(6)] }))).toBe('rolled back');
  });
  test('R:FF-09 after a failed first step nothing is scheduled', () => {
    const outcome = runTurn(saga, { history: started().activity('pay'), messages: [message.activityFailed(2, 'no')] });
    expect(failureOf(outcome)).toBe('no');
    expect(kinds(outcome)).toEqual(['ActivityFailed', 'OrchestrationFailed']);
  });
  test('R:FF-10 all is well', () => {
    const history = started().activity('pay').activityDone(2).activity('ship');
    expect(outputOf(runTurn(saga, { history, messages: [message.activityDone(4)] }))).toBe('ok');
  });
});

/** Positional subscriptions come first, by id, then those of mailboxes. */
function order(event: { kind: string }): number {
  return [
    'OrchestrationCancelRequested',
    'ExternalSubscribedCancelled',
    'ExternalSubscribedPersistentCancelled',
    'OrchestrationFailed',
    'ActivityCancelRequested',
  ].indexOf(event.kind);
}

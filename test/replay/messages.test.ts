import { describe, expect, test } from '@jest/globals';
import { message, started, SYSTEM_ERRORS } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

/** Waits for something that the messages of a test do not give. */
const busy: Script = function* (s) {
  s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
  s.emit({ kind: 'createTimer', delayMs: 5 });
  s.emit({ kind: 'startSubOrchestration', name: 'C', version: null, instance: null, input: '1' });
  ok(yield* s.event('go'));
  return '"went"';
};
const stored = () => started().activity('A').timer().child('C').subscribed('go');

describe('messages become events', () => {
  test.each([
    ['R:MC-01', message.activityDone(2, '"r"'), { kind: 'ActivityCompleted', result: '"r"', source: 2 }],
    ['R:MC-02', message.timerFired(3, 7), { kind: 'TimerFired', fireAtMs: 7, source: 3 }],
    ['R:MC-03', message.raised('other', '"d"'), { kind: 'ExternalEvent', name: 'other', data: '"d"' }],
    ['R:MC-03', message.queued('box', '"d"'), { kind: 'ExternalEventPersistent', name: 'box', data: '"d"' }],
    ['R:MC-04', message.childDone(4, '"c"'), { kind: 'SubOrchestrationCompleted', result: '"c"', source: 4 }],
  ])('%s %j', (_id, item, event) => {
    const outcome = runTurn(busy, { history: stored(), messages: [item] });
    expect(outcome.result.kind).toBe('continued');
    expect(written(outcome)).toEqual([event]);
  });

  test('R:MC-04 a child failure keeps its details', () => {
    const outcome = runTurn(busy, { history: stored(), messages: [message.childFailed(4, 'c')] });
    expect(written(outcome)).toMatchObject([{ kind: 'SubOrchestrationFailed', source: 4 }]);
  });

  test.each([
    ['R:MC-05 R:MC-12', stored().activityDone(2), message.activityDone(2)],
    ['R:MC-12', stored().activityDone(2), message.activityDone(2, '"another"')],
    ['R:T-07 D-10', stored().activityDone(2), message.activityFailed(2)],
    ['R:T-07 D-10', stored().activityFailed(2), message.activityFailed(2)],
    ['R:T-07 D-10', stored().activityFailed(2), message.activityDone(2)],
    ['R:MC-13', stored().timerFired(3), message.timerFired(3)],
    ['D-10', stored().childFailed(4), message.childDone(4)],
    ['D-10', stored().childDone(4), message.childFailed(4)],
  ])('%s a second outcome of a schedule is dropped', (_id, history, item) => {
    const outcome = runTurn(busy, { history, messages: [item] });
    expect(outcome.result.kind).toBe('continued');
    expect(outcome.historyDelta).toEqual([]);
    expect(outcome.warnings).toMatchObject([{ kind: 'duplicateOutcome', message: item.kind }]);
  });

  test.each([
    ['R:MC-06 R:MC-14', [message.activityDone(2, '1'), message.activityDone(2, '2')], ['ActivityCompleted']],
    ['R:MC-06', [message.activityDone(2, '1'), message.activityFailed(2)], ['ActivityCompleted']],
    ['R:MC-13', [message.timerFired(3), message.timerFired(3)], ['TimerFired']],
    ['R:MC-06', [message.childFailed(4), message.childDone(4)], ['SubOrchestrationFailed']],
  ])('%s of two outcomes in one batch only the first counts', (_id, messages, expected) => {
    expect(kinds(runTurn(busy, { history: stored(), messages }))).toEqual(expected);
  });

  test.each([
    ['older', 1],
    ['newer', 3],
  ])('R:MC-07 R:ND-26 R:CA-03 R:CA-04 an outcome of an %s execution is dropped', (_what, executionId) => {
    const outcome = runTurn(busy, {
      executionId: 2,
      history: stored(),
      messages: [
        message.activityDone(2, '1', executionId),
        message.activityFailed(2, 'x', executionId),
        message.timerFired(3, 1, executionId),
        message.childDone(4, '1', executionId),
        message.childFailed(4, 'x', executionId),
      ],
    });
    expect(outcome.historyDelta).toEqual([]);
    expect(outcome.warnings).toHaveLength(5);
  });

  test('R:SO-01 a child result without an execution id belongs to the current one', () => {
    const outcome = runTurn(busy, {
      executionId: 7,
      history: stored(),
      messages: [{ ...message.childDone(4), parentExecutionId: undefined } as never],
    });
    expect(kinds(outcome)).toEqual(['SubOrchestrationCompleted']);
  });

  test('R:MC-08 R:EV-02 R:DH-23 an event that nobody waits for is stored, not delivered', () => {
    const outcome = runTurn(busy, { history: stored(), messages: [message.raised('nobody')] });
    expect(kinds(outcome)).toEqual(['ExternalEvent']);
    expect(outcome.warnings).toEqual([{ kind: 'eventNotDelivered', name: 'nobody' }]);
    expect(outcome.keepWarm).toBe(false);
  });

  test('R:MC-09 R:ID-05 outcomes of a batch keep its order and come before new schedules', () => {
    const code: Script = function* (s) {
      yield* s.all([s.activity('A'), s.activity('B')]);
      return ok(yield* s.activity('C'));
    };
    const outcome = runTurn(code, {
      history: started().activity('A').activity('B'),
      messages: [message.activityDone(3, 'b'), message.activityDone(2, 'a')],
    });
    expect(outcome.historyDelta.map(({ eventId, kind, sourceEventId }) => [eventId, kind, sourceEventId])).toEqual([
      [4, 'ActivityCompleted', 3],
      [5, 'ActivityCompleted', 2],
      [6, 'ActivityScheduled', null],
    ]);
  });

  test.each([
    ['R:MC-10 R:MC-15 R:ND-27', stored(), [message.raised('x', '1'), message.raised('x', '1')], 2],
    ['R:MC-11', stored().event('x', '1'), [message.raised('x', '1')], 1],
    ['R:MC-10', stored(), [message.queued('x', '1'), message.queued('x', '1')], 2],
  ])('%s equal events are separate events', (_id, history, messages, count) => {
    expect(runTurn(busy, { history, messages }).historyDelta).toHaveLength(count);
  });

  test('start items, continue-as-new items and worker items are no business of a running execution', () => {
    const outcome = runTurn(busy, {
      history: stored(),
      messages: [
        {
          kind: 'StartOrchestration',
          instance: 'inst',
          orchestration: 'O',
          input: '',
          version: null,
          parentInstance: null,
          parentId: null,
          executionId: 1,
        },
        {
          kind: 'ContinueAsNew',
          instance: 'inst',
          orchestration: 'O',
          input: '',
          version: null,
          carryForwardEvents: [],
        },
        { kind: 'ActivityExecute', instance: 'inst', executionId: 1, id: 2, name: 'A', input: '' },
      ],
    });
    expect(outcome.historyDelta).toEqual([]);
  });

  test.each([
    ['R:FF-02', message.activityFailed(2, SYSTEM_ERRORS.infrastructure), SYSTEM_ERRORS.infrastructure],
    ['R:FF-03', message.activityFailed(2, SYSTEM_ERRORS.configuration), SYSTEM_ERRORS.configuration],
    ['R:PO-04', message.activityFailed(2, SYSTEM_ERRORS.poison), SYSTEM_ERRORS.poison],
    ['R:FF-04', message.childFailed(4, SYSTEM_ERRORS.infrastructure), SYSTEM_ERRORS.infrastructure],
    ['R:SO-13 R:SO-14', message.childFailed(4, SYSTEM_ERRORS.poison), SYSTEM_ERRORS.poison],
  ])('%s a system failure is recorded and ends the instance before its code runs', (_id, item, details) => {
    let polls = 0;
    const outcome = runTurn(
      function* (s) {
        polls++;
        return ok(yield* s.activity('A'));
      },
      { history: stored(), messages: [item] },
    );
    expect(polls).toBe(0);
    expect(outcome.result).toEqual({ kind: 'failed', details });
    expect(kinds(outcome).slice(0, 1)).toEqual([
      item.kind === 'ActivityFailed' ? 'ActivityFailed' : 'SubOrchestrationFailed',
    ]);
    expect(kinds(outcome)).toContain('OrchestrationFailed');
  });

  test('of several system failures the first one is the reason', () => {
    const outcome = runTurn(busy, {
      history: stored(),
      messages: [message.activityFailed(2, SYSTEM_ERRORS.infrastructure), message.childFailed(4, SYSTEM_ERRORS.poison)],
    });
    expect(outcome.result).toEqual({ kind: 'failed', details: SYSTEM_ERRORS.infrastructure });
  });
});

describe('event ids', () => {
  const three: Script = function* (s) {
    return (yield* s.all([s.activity('A'), s.timer(), s.event('e')])).map(ok).join();
  };

  test('R:ID-01 R:ID-04 R:JR-06 three schedules of a fresh history get 2, 3 and 4, and their items carry them', () => {
    const outcome = runTurn(three);
    expect(outcome.historyDelta.map(({ eventId }) => eventId)).toEqual([1, 2, 3, 4]);
    expect(outcome.workerItems).toMatchObject([{ id: 2 }]);
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'TimerFired', id: 3 }]);
  });

  test.each([
    ['R:ID-02', started().activity('X').activityDone(2), 4],
    ['R:ID-03 R:DH-05', started().at(5).activity('X').at(40).activityDone(5), 41],
  ])('%s new ids follow the last stored one', (_id, history, next) => {
    const outcome = runTurn(
      function* (s) {
        ok(yield* s.activity('X'));
        return ok(yield* s.activity('Y'));
      },
      { history },
    );
    expect(outcome.historyDelta.map(({ eventId }) => eventId)).toEqual([next]);
  });

  test('messages that fail a check use up no id', () => {
    const outcome = runTurn(busy, {
      history: stored().activityDone(2),
      messages: [message.activityDone(2), message.raised('e'), message.timerFired(3, 1, 9), message.raised('e')],
    });
    expect(outcome.historyDelta.map(({ eventId }) => eventId)).toEqual([7, 8]);
  });

  test('the id that continue-as-new uses up is free again at the end', () => {
    const outcome = runTurn(function* (s) {
      s.emit({ kind: 'waitExternal', name: 'e' });
      s.continueAsNew('1');
      s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
      ok(yield* s.event('f'));
      return '';
    });
    expect(outcome.historyDelta.map(({ eventId, kind }) => [eventId, kind])).toEqual([
      [1, 'OrchestrationStarted'],
      [2, 'ExternalSubscribed'],
      [4, 'ActivityScheduled'],
      [5, 'ExternalSubscribed'],
      [6, 'ExternalSubscribedCancelled'],
      [7, 'ExternalSubscribedCancelled'],
      [8, 'OrchestrationContinuedAsNew'],
      [9, 'ActivityCancelRequested'],
    ]);
  });
});

describe('the replay flag', () => {
  /** What the code sees at each point where it runs. */
  function flags(options: Parameters<typeof runTurn>[1]): { seen: boolean[]; output: string } {
    const seen: boolean[] = [];
    const outcome = runTurn(function* (s) {
      seen.push(s.port.replaying);
      ok(yield* s.activity('A'));
      seen.push(s.port.replaying);
      ok(yield* s.activity('B'));
      seen.push(s.port.replaying);
      return '"done"';
    }, options);
    return { seen, output: outcome.result.kind === 'completed' ? outputOf(outcome) : '' };
  }

  test('R:RF-01 R:RF-04 it is false from the start of a first turn', () => {
    expect(flags({}).seen).toEqual([false]);
  });

  test('R:RF-02 it is true while stored events are gone through', () => {
    expect(flags({ history: started().activity('A').activityDone(2).activity('B') }).seen).toEqual([true, true]);
  });

  test('R:RF-03 it is false when the code sees the first new event', () => {
    const { seen, output } = flags({
      history: started().activity('A').activityDone(2).activity('B'),
      messages: [message.activityDone(4)],
    });
    expect(seen).toEqual([true, true, false]);
    expect(output).toBe('"done"');
  });

  test('R:RF-05 what an earlier turn saw without writing anything is a repetition, too', () => {
    // Both outcomes are stored, and the turn that took the first one had nothing to write.
    const seen: string[] = [];
    const code: Script = function* (s) {
      const note = (text: string): void => void (s.port.replaying || seen.push(text));
      note('start');
      yield* s.all([
        s.block(function* () {
          const outcome = yield* s.activity('A');
          note('after A');
          return outcome;
        }),
        s.activity('B'),
      ]);
      note('after both');
      return '"done"';
    };
    runTurn(code);
    runTurn(code, { history: started().activity('A').activity('B'), messages: [message.activityDone(2)] });
    runTurn(code, {
      history: started().activity('A').activity('B').activityDone(2),
      messages: [message.activityDone(3)],
    });
    expect(seen).toEqual(['start', 'after A', 'after both']);
  });

  test('unknown ids abort with the last reason found', () => {
    const outcome = runTurn(busy, {
      history: stored(),
      messages: [message.activityFailed(2, SYSTEM_ERRORS.infrastructure), message.activityDone(99)],
    });
    expect(failureOf(outcome)).toBe('no matching schedule for completion id=99');
  });
});

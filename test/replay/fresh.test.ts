import { describe, expect, test } from '@jest/globals';
import { message, started, T0 } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok, ScriptFailure, value } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

/** First turns: only the start event exists. */
describe('fresh execution', () => {
  test('R:FR-01 code that returns a value completes with it and does nothing else', () => {
    const outcome = runTurn(function* () {
      return yield* value('"result"');
    });
    expect(outcome.result).toEqual({ kind: 'completed', output: '"result"' });
    expect(kinds(outcome)).toEqual(['OrchestrationCompleted']);
    expect(outcome).toMatchObject({ workerItems: [], orchestratorItems: [], cancelledActivities: [] });
    expect(outcome.metadata).toEqual({
      orchestrationName: 'Orch',
      orchestrationVersion: '1.0.0',
      parentInstanceId: undefined,
      pinnedDuroxideVersion: { major: 0, minor: 1, patch: 30 },
      status: 'Completed',
      output: '"result"',
    });
  });

  test('R:FR-02 code that fails gives an application failure with its text', () => {
    const outcome = runTurn(failing('nope'));
    expect(outcome.result).toEqual({
      kind: 'failed',
      details: {
        kind: 'Application',
        application: { kind: 'OrchestrationFailed' },
        message: 'nope',
        retryable: false,
      },
    });
    expect(outcome.metadata).toMatchObject({ status: 'Failed', output: 'nope' });
  });

  test('R:FR-03 an awaited activity leaves one schedule event and one worker item', () => {
    const outcome = runTurn(waitingFor((s) => s.activity('Echo', '"x"')));
    expect(outcome.result.kind).toBe('continued');
    expect(written(outcome)).toEqual([{ kind: 'ActivityScheduled', name: 'Echo', input: '"x"' }]);
    expect(outcome.workerItems).toEqual([
      { kind: 'ActivityExecute', instance: 'inst', executionId: 1, id: 2, name: 'Echo', input: '"x"' },
    ]);
    expect(outcome.metadata.status).toBeUndefined();
    expect(outcome.keepWarm).toBe(true);
  });

  test('R:FR-04 R:TM-10 a timer leaves one event and one delayed message', () => {
    const outcome = runTurn(
      waitingFor((s) => s.timer(500)),
      { nowMs: T0 },
    );
    expect(written(outcome)).toEqual([{ kind: 'TimerCreated', fireAtMs: T0 + 500 }]);
    expect(outcome.orchestratorItems).toEqual([
      { kind: 'TimerFired', instance: 'inst', executionId: 1, id: 2, fireAtMs: T0 + 500 },
    ]);
  });

  test('R:FR-05 a wait for an event leaves one subscription and no message', () => {
    const outcome = runTurn(waitingFor((s) => s.event('go')));
    expect(written(outcome)).toEqual([{ kind: 'ExternalSubscribed', name: 'go' }]);
    expect(outcome).toMatchObject({ workerItems: [], orchestratorItems: [] });
  });

  test('R:FR-06 R:SO-12 a child leaves one event and one start message with the link to the parent', () => {
    const outcome = runTurn(waitingFor((s) => s.child('Child', null, '"c"')));
    expect(written(outcome)).toEqual([
      { kind: 'SubOrchestrationScheduled', name: 'Child', instance: 'sub::2', input: '"c"' },
    ]);
    expect(outcome.orchestratorItems).toEqual([
      {
        kind: 'StartOrchestration',
        instance: 'inst::sub::2',
        orchestration: 'Child',
        input: '"c"',
        version: null,
        parentInstance: 'inst',
        parentId: 2,
        parentExecutionId: 1,
        executionId: 1,
      },
    ]);
  });

  test('R:FR-07 continue-as-new ends the execution with the new input', () => {
    const outcome = runTurn(function* (s) {
      s.continueAsNew('"again"');
      return yield* never;
    });
    expect(outcome.result).toEqual({ kind: 'continuedAsNew', input: '"again"', version: null });
    expect(written(outcome)).toEqual([{ kind: 'OrchestrationContinuedAsNew', input: '"again"' }]);
    expect(outcome.historyDelta.at(-1)?.eventId).toBe(2);
    expect(outcome.metadata).toMatchObject({ status: 'ContinuedAsNew', output: '"again"' });
  });

  test('R:FR-08 a child that nobody waits for is recorded before continue-as-new', () => {
    const outcome = runTurn(function* (s) {
      s.emit({ kind: 'startSubOrchestration', name: 'Child', version: null, instance: null, input: '1' });
      s.continueAsNew('2');
      return yield* never;
    });
    expect(outcome.result.kind).toBe('continuedAsNew');
    expect(kinds(outcome)).toEqual(['SubOrchestrationScheduled', 'OrchestrationContinuedAsNew']);
    expect(outcome.orchestratorItems.map(({ kind }) => kind)).toEqual(['ContinueAsNew']);
  });

  test('R:FR-09 three activities that nobody waits for are recorded, cancelled and never sent', () => {
    const outcome = runTurn(function* (s) {
      for (const name of ['A', 'B', 'C']) s.emit({ kind: 'scheduleActivity', name, input: '1' });
      return yield* value('"done"');
    });
    expect(outcome.result.kind).toBe('completed');
    expect(written(outcome)).toEqual([
      { kind: 'ActivityScheduled', name: 'A', input: '1' },
      { kind: 'ActivityScheduled', name: 'B', input: '1' },
      { kind: 'ActivityScheduled', name: 'C', input: '1' },
      { kind: 'OrchestrationCompleted', output: '"done"' },
      { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_completed', source: 2 },
      { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_completed', source: 3 },
      { kind: 'ActivityCancelRequested', reason: 'orchestration_terminal_completed', source: 4 },
    ]);
    expect(outcome.workerItems).toEqual([]);
    expect(outcome.cancelledActivities.map(({ activityId }) => activityId)).toEqual([2, 3, 4]);
    expect(outcome.warnings).toEqual([{ kind: 'endedWithOpenActivities', eventIds: [2, 3, 4] }]);
  });

  test.each([
    ['fresh', undefined],
    ['replayed', started().activity('A').activityDone(2).activity('B')],
  ])('R:FR-10 the code is entered from its start exactly once in a %s turn', (_what, history) => {
    let starts = 0;
    const code: Script = function* (s) {
      starts++;
      ok(yield* s.activity('A'));
      ok(yield* s.activity('B'));
      return '"done"';
    };
    runTurn(code, history && { history, messages: [message.activityDone(4)] });
    expect(starts).toBe(1);
  });

  test('R:FR-11 R:TM-06 a timer of no length waits for its message like any other', () => {
    const outcome = runTurn(
      waitingFor((s) => s.timer(0)),
      { nowMs: T0 },
    );
    expect(outcome.result.kind).toBe('continued');
    expect(outcome.orchestratorItems).toMatchObject([{ kind: 'TimerFired', fireAtMs: T0 }]);
  });

  test.each([
    [-5, T0],
    [1.9, T0 + 1],
    [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER],
    [2 ** 53, Number.MAX_SAFE_INTEGER],
  ])('a timer of %d ms has a deadline that is a whole number', (delayMs, fireAtMs) => {
    expect(
      written(
        runTurn(
          waitingFor((s) => s.timer(delayMs)),
          { nowMs: T0 },
        ),
      ),
    ).toEqual([{ kind: 'TimerCreated', fireAtMs }]);
  });

  test('R:FR-12 R:DH-15 empty names and inputs are legal', () => {
    expect(written(runTurn(waitingFor((s) => s.activity('', ''))))).toEqual([
      { kind: 'ActivityScheduled', name: '', input: '' },
    ]);
  });

  test('messages of the first batch stand before the first schedules', () => {
    const outcome = runTurn(
      waitingFor((s) => s.activity('A')),
      { messages: [message.raised('early'), message.queued('q')] },
    );
    expect(outcome.historyDelta.map(({ eventId, kind }) => [eventId, kind])).toEqual([
      [1, 'OrchestrationStarted'],
      [2, 'ExternalEvent'],
      [3, 'ExternalEventPersistent'],
      [4, 'ActivityScheduled'],
    ]);
  });

  test('the start event carries what the start record says', () => {
    const outcome = runTurn(
      waitingFor((s) => s.timer()),
      {
        executionId: 3,
        start: {
          parent: { instance: 'p', id: 4, executionId: 2 },
          carryForwardEvents: [['q', '1']],
          initialCustomStatus: 'was',
        },
      },
    );
    expect(outcome.historyDelta[0]).toMatchObject({
      eventId: 1,
      executionId: 3,
      kind: 'OrchestrationStarted',
      parentInstance: 'p',
      parentId: 4,
      parentExecutionId: 2,
      carryForwardEvents: [['q', '1']],
      initialCustomStatus: 'was',
    });
    expect(outcome.metadata.parentInstanceId).toBe('p');
    expect(outcome.customStatus).toBe('was');
  });

  test('an unexpected error of a driver is the caller’s, not the instance’s', () => {
    const broken: Script = function* () {
      yield* value(1);
      throw new Error('a bug of a driver');
    };
    expect(() => runTurn(broken)).toThrow('a bug of a driver');
  });

  test('helpers tell outcomes apart', () => {
    expect(() => outputOf(runTurn(failing('x')))).toThrow('failed');
    expect(failureOf(runTurn(failing('x')))).toBe('x');
  });
});

function failing(text: string): Script {
  return function* () {
    yield* value(0);
    throw new ScriptFailure(text);
  };
}

function waitingFor(branch: (s: Parameters<Script>[0]) => ReturnType<Parameters<Script>[0]['activity']>): Script {
  return function* (s) {
    return ok(yield* branch(s));
  };
}

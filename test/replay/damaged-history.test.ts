import { describe, expect, test } from '@jest/globals';
import { HistoryBuilder, message, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok } from '../support/script.js';
import { failureOf, kinds, outputOf, runTurn } from '../support/turns.js';

type Branch = (s: Parameters<Script>[0]) => ReturnType<Parameters<Script>[0]['activity']>;
const one =
  (branch: Branch): Script =>
  (s) =>
    (function* () {
      return ok(yield* branch(s));
    })();

const activity = one((s) => s.activity('A'));

describe('damaged history', () => {
  test.each([
    ['R:DH-01', new HistoryBuilder(), 'corrupted history: empty'],
    ['R:DH-02', new HistoryBuilder().activity('A'), 'corrupted history: first event must be OrchestrationStarted'],
    [
      'R:DH-03',
      new HistoryBuilder().activity('A').started(),
      'corrupted history: first event must be OrchestrationStarted',
    ],
  ])('%s %#', (_id, history, text) => {
    const outcome = runTurn(activity, { history });
    expect(failureOf(outcome)).toBe(text);
    expect(kinds(outcome)).toContain('OrchestrationFailed');
  });

  test('R:DH-04 a start event with id 0 is accepted', () => {
    const outcome = runTurn(activity, { history: new HistoryBuilder().at(0).started() });
    expect(outcome.historyDelta).toMatchObject([{ kind: 'ActivityScheduled', eventId: 1 }]);
  });

  test('R:DH-06 an outcome may have a lower id than its schedule', () => {
    const history = new HistoryBuilder().started().at(20).activity('A').at(10).activityDone(20, '"r"');
    expect(outputOf(runTurn(activity, { history }))).toBe('"r"');
  });

  test.each([
    ['R:DH-09 R:CN-08 R:EV-03', started().completed()],
    ['R:DH-10', started().failed()],
    ['R:DH-11', started().continuedAsNew()],
    ['R:DH-12', started().failed().completed()],
    ['R:DH-13', started().completed().activityCancelled(2).event('x')],
    ['R:DH-14', started().completed().cancelRequested()],
    ['R:T-11', started().activity('A').completed().activityCancelled(2, 'orchestration_terminal_completed')],
  ])('%s after a terminal event nothing happens: %#', (_id, history) => {
    let polls = 0;
    const outcome = runTurn(
      (s) =>
        (function* () {
          polls++;
          return ok(yield* s.activity('A'));
        })(),
      { history, messages: [message.raised('late'), message.cancel()] },
    );
    expect(polls).toBe(0);
    expect(outcome.result).toEqual({ kind: 'alreadyTerminal' });
    expect(outcome).toMatchObject({
      historyDelta: [],
      workerItems: [],
      orchestratorItems: [],
      cancelledActivities: [],
      metadata: {},
      keepWarm: false,
    });
  });

  test.each([
    ['R:DH-16', 'naïve – 漢字 🎉'],
    ['R:DH-17', 'y'.repeat(10_240)],
    ['R:DH-18', 'a\nb\tc\rd'],
  ])('%s texts survive: %#', (_id, text) => {
    const code = one((s) => s.activity(text.slice(0, 100), text));
    const first = runTurn(code);
    const outcome = runTurn(code, { history: first.historyDelta, messages: [message.activityDone(2, text)] });
    expect(outputOf(outcome)).toBe(text);
  });

  test('R:DH-18 a NUL in memory survives in results', () => {
    const outcome = runTurn(activity, {
      history: started().activity('A'),
      messages: [message.activityDone(2, 'a\u0000b')],
    });
    expect(outputOf(outcome)).toBe('a\u0000b');
  });

  test.each([
    ['R:DH-19', one((s) => s.timer()), started().timerFired(3).timer()],
    ['R:DH-20', activity, started().activityDone(3).activity('A')],
  ])('%s an outcome before its schedule fails', (_id, code, history) => {
    expect(failureOf(runTurn(code, { history }))).toBe('completion without open schedule');
  });

  test.each([
    ['R:DH-24', activity, started().activity('A').activity('A')],
    ['R:DH-25', one((s) => s.timer()), started().timer().timer()],
    ['R:DH-26', one((s) => s.event('e')), started().subscribed('e').subscribed('e')],
  ])('%s a schedule that history repeats fails', (_id, code, history) => {
    expect(failureOf(runTurn(code, { history }))).toBe('history schedule but no emitted action');
  });

  test('an outcome without a source is ignored', () => {
    const history = started().activity('A').add({ kind: 'ActivityCompleted', result: '"x"' });
    expect(kinds(runTurn(activity, { history }))).toEqual([]);
  });
});

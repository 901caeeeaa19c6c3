import { describe, expect, test } from '@jest/globals';
import type { HistoryBuilder } from '../support/history-builder.js';
import { message, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok } from '../support/script.js';
import type { TurnOptions } from '../support/turns.js';
import { failureOf, kinds, outputOf, runTurn } from '../support/turns.js';

type Branch = (s: Parameters<Script>[0]) => ReturnType<Parameters<Script>[0]['activity']>;
const one =
  (branch: Branch): Script =>
  (s) =>
    (function* () {
      return ok(yield* branch(s));
    })();
const inTurn =
  (...branches: Branch[]): Script =>
  (s) =>
    (function* () {
      const texts: string[] = [];
      for (const branch of branches) texts.push(ok(yield* branch(s)));
      return texts.join();
    })();

/** Waits while an activity, a timer and a child (2, 3, 4) are open. */
const open: Script = function* (s) {
  yield* s.all([s.activity('A'), s.timer(), s.child('C'), s.event('never')]);
  return '';
};
const openHistory = () => started().activity('A').timer().child('C').subscribed('never');

interface Case {
  readonly id: string;
  readonly code: Script;
  readonly history: HistoryBuilder;
  readonly messages?: TurnOptions['messages'];
  readonly failure: string | RegExp;
}

const cases: readonly Case[] = [
  {
    id: 'R:ND-01 C-30 a timer instead of an activity',
    code: one((s) => s.timer()),
    history: started().activity('A'),
    failure:
      /^schedule mismatch: action=CreateTimer \{ scheduling_event_id: 0, fire_at_ms: \d+ \} vs event=ActivityScheduled \{ name: "A", input: "1", session_id: None, tag: None \}$/,
  },
  {
    id: 'R:ND-02 an activity instead of a timer',
    code: one((s) => s.activity('Echo', '0')),
    history: started().timer(5),
    failure:
      'schedule mismatch: action=CallActivity { scheduling_event_id: 0, name: "Echo", input: "0", session_id: None, tag: None } vs event=TimerCreated { fire_at_ms: 5 }',
  },
  {
    id: 'R:ND-03 C-30 another activity name',
    code: one((s) => s.activity('B')),
    history: started().activity('A'),
    failure: /^schedule mismatch: .*name: "B".*name: "A"/,
  },
  {
    id: 'R:ND-04 C-30 another activity input',
    code: one((s) => s.activity('A', '2')),
    history: started().activity('A', '1'),
    failure: /^schedule mismatch: .*input: "2".*input: "1"/,
  },
  {
    id: 'R:ND-05 another event name',
    code: one((s) => s.event('other')),
    history: started().subscribed('go'),
    failure:
      'schedule mismatch: action=WaitExternal { scheduling_event_id: 0, name: "other" } vs event=ExternalSubscribed { name: "go" }',
  },
  {
    id: 'C-30 another queue name',
    code: one((s) => s.dequeue('other')),
    history: started().dequeued('box'),
    failure: /^schedule mismatch: action=DequeueEvent .*QueueSubscribed \{ name: "box" \}$/,
  },
  {
    id: 'C-30 another child name',
    code: one((s) => s.child('D')),
    history: started().child('C'),
    failure: /^schedule mismatch: action=StartSubOrchestration .*SubOrchestrationScheduled/,
  },
  {
    id: 'C-30 another child input',
    code: one((s) => s.child('C', null, '2')),
    history: started().child('C'),
    failure: /^schedule mismatch/,
  },
  {
    id: 'C-30 swapped order',
    code: (s) =>
      (function* () {
        yield* s.all([s.activity('B'), s.activity('A')]);
        return '';
      })(),
    history: started().activity('A').activity('B'),
    failure: /^schedule mismatch/,
  },
  {
    id: 'C-30 one activity fewer',
    code: inTurn(
      (s) => s.activity('A'),
      (s) => s.activity('C'),
    ),
    history: started().activity('A').activityDone(2).activity('B').activityDone(4).activity('C'),
    failure: /^schedule mismatch: .*name: "C".*name: "B"/,
  },
  {
    id: 'C-30 one activity fewer at the end, while the code waits',
    code: one((s) => s.activity('A')),
    history: started().activity('A').activity('B'),
    failure: 'history schedule but no emitted action',
  },
  {
    id: 'R:ND-07 R:ND-23 R:DH-07 an activity outcome for an unknown id',
    code: open,
    history: openHistory(),
    messages: [message.activityDone(77)],
    failure: 'no matching schedule for completion id=77',
  },
  {
    id: 'R:ND-07 an activity outcome for the id of a subscription',
    code: open,
    history: openHistory(),
    messages: [message.activityDone(5)],
    failure: 'no matching schedule for completion id=5',
  },
  {
    id: 'R:ND-24 R:DH-21 a timer with an unknown id',
    code: open,
    history: openHistory(),
    messages: [message.timerFired(77)],
    failure: 'no matching schedule for timer id=77',
  },
  {
    id: 'R:DH-22 R:ND-28 a child outcome for an unknown id',
    code: open,
    history: openHistory(),
    messages: [message.childDone(77)],
    failure: 'no matching schedule for sub-orchestration id=77',
  },
  {
    id: 'R:ND-08 R:ND-22 R:DH-08 an activity outcome for a timer',
    code: open,
    history: openHistory(),
    messages: [message.activityDone(3)],
    failure: "completion kind mismatch for id=3, expected 'timer', got 'activity'",
  },
  {
    id: 'R:ND-09 a timer message for an activity',
    code: open,
    history: openHistory(),
    messages: [message.timerFired(2)],
    failure: "completion kind mismatch for id=2, expected 'activity', got 'timer'",
  },
  {
    id: 'R:ND-10 a child outcome for an activity',
    code: open,
    history: openHistory(),
    messages: [message.childDone(2)],
    failure: "completion kind mismatch for id=2, expected 'activity', got 'suborchestration'",
  },
  {
    id: 'R:ND-11 a child outcome for a timer',
    code: open,
    history: openHistory(),
    messages: [message.childFailed(3)],
    failure: "completion kind mismatch for id=3, expected 'timer', got 'suborchestration'",
  },
  {
    id: 'R:ND-12 a timer message for a child',
    code: open,
    history: openHistory(),
    messages: [message.timerFired(4)],
    failure: "completion kind mismatch for id=4, expected 'suborchestration', got 'timer'",
  },
  {
    id: 'D-10 the kind is checked before the second outcome is dropped',
    code: open,
    history: openHistory().activityDone(2),
    messages: [message.timerFired(2)],
    failure: "completion kind mismatch for id=2, expected 'activity', got 'timer'",
  },
  {
    id: 'R:ND-13 a detached start that the code does not make',
    code: one((s) => s.event('go')),
    history: started().subscribed('go').chained('D', 'd'),
    failure: 'history OrchestrationChained but no emitted action',
  },
  {
    id: 'R:ND-14 a detached start of another name',
    code: (s) =>
      (function* () {
        s.detached('E', 'd');
        return ok(yield* s.event('go'));
      })(),
    history: started().chained('D', 'd'),
    failure: /^schedule mismatch: action=StartOrchestrationDetached .*OrchestrationChained \{ name: "D"/,
  },
  {
    id: 'R:ND-15 a stored activity success that points at a timer',
    code: one((s) => s.timer()),
    history: started().timer().activityDone(2),
    failure: 'completion kind mismatch: expected activity',
  },
  {
    id: 'R:ND-16 a stored second firing of a timer',
    code: inTurn(
      (s) => s.timer(),
      (s) => s.event('go'),
    ),
    history: started().timer().timerFired(2).subscribed('go').timerFired(2),
    failure: 'completion without open schedule',
  },
  {
    id: 'R:ND-17 a stored second child success',
    code: inTurn(
      (s) => s.child('C'),
      (s) => s.event('go'),
    ),
    history: started().child('C').childDone(2).subscribed('go').childDone(2),
    failure: 'completion without open schedule',
  },
  {
    id: 'R:ND-18 a stored second activity success',
    code: inTurn(
      (s) => s.activity('A'),
      (s) => s.event('go'),
    ),
    history: started().activity('A').activityDone(2).subscribed('go').activityDone(2),
    failure: 'completion without open schedule',
  },
  {
    id: 'R:ND-19 a stored activity failure after its success',
    code: inTurn(
      (s) => s.activity('A'),
      (s) => s.event('go'),
    ),
    history: started().activity('A').activityDone(2).subscribed('go').activityFailed(2),
    failure: 'completion without open schedule',
  },
  {
    id: 'R:ND-20 a stored child failure after its success',
    code: inTurn(
      (s) => s.child('C'),
      (s) => s.event('go'),
    ),
    history: started().child('C').childDone(2).subscribed('go').childFailed(2),
    failure: 'completion without open schedule',
  },
];

describe('nondeterminism', () => {
  test.each(cases.map((item) => [item.id, item] as const))('%s', (_id, item) => {
    const outcome = runTurn(item.code, { history: item.history, messages: item.messages ?? [] });
    if (typeof item.failure === 'string') expect(failureOf(outcome)).toBe(item.failure);
    else expect(failureOf(outcome)).toMatch(item.failure);
    expect(outcome.result).toMatchObject({
      details: { kind: 'Configuration', configuration: 'Nondeterminism', resource: '' },
    });
    expect(outcome.metadata.output).toMatch(/^nondeterministic: /);
    expect(outcome.keepWarm).toBe(false);
    expect(outcome.workerItems).toEqual([]);
  });

  test.each([
    ['R:ND-06 code that returns at once', started().activity('A')],
    ['code that returns before a stored outcome', started().activity('A').activityDone(2)],
  ])('%s completes: finishing early is no error', (_what, history) => {
    expect(
      outputOf(
        runTurn(
          one((s) =>
            s.block(function* () {
              yield* s.all([]);
              return { ok: true, text: '"early"' };
            }),
          ),
          { history },
        ),
      ),
    ).toBe('"early"');
  });

  test('actions that were emitted and not matched before an early end are recorded again', () => {
    const outcome = runTurn(
      function* (s) {
        s.emit({ kind: 'scheduleActivity', name: 'A', input: '1' });
        yield* s.all([]);
        return '"early"';
      },
      { history: started().activity('A') },
    );
    expect(kinds(outcome)).toEqual([
      'ActivityScheduled',
      'OrchestrationCompleted',
      'ActivityCancelRequested',
      'ActivityCancelRequested',
    ]);
  });

  test.each([
    ['a longer timer', one((s) => s.timer(99_999)), started().timer(5)],
    ['another id of a child', one((s) => s.child('C', 'other')), started().child('C', 'sub::2')],
    ['another version of a child', one((s) => s.child('C', null, '1', '2.0.0')), started().child('C')],
    [
      'another custom status',
      (s: Parameters<Script>[0]) =>
        (function* () {
          s.port.customStatus.set('new words');
          return ok(yield* s.activity('A'));
        })(),
      started().status('old words').activity('A'),
    ],
    [
      'new work at the end',
      inTurn(
        (s) => s.activity('A'),
        (s) => s.activity('New'),
      ),
      started().activity('A'),
    ],
  ])('C-30 %s is not detected', (_what, code, history) => {
    const outcome = runTurn(code, { history });
    expect(outcome.result.kind).toBe('continued');
    expect(outcome.historyDelta).toEqual([]);
  });

  test('C-31 a failed replay ends the instance once and schedules nothing', () => {
    const history = started().activity('A');
    const failed = runTurn(
      one((s) => s.activity('B')),
      { history, messages: [message.activityDone(2)] },
    );
    expect(kinds(failed)).toEqual(['ActivityCompleted', 'OrchestrationFailed']);
    const after = runTurn(
      one((s) => s.activity('B')),
      {
        history: [...history.events, ...failed.historyDelta],
        messages: [message.raised('x')],
      },
    );
    expect(after).toMatchObject({ result: { kind: 'alreadyTerminal' }, historyDelta: [], orchestratorItems: [] });
  });

  test('long payloads are cut in the failure', () => {
    const outcome = runTurn(
      one((s) => s.activity('A', 'x'.repeat(5000))),
      { history: started().activity('A') },
    );
    expect(failureOf(outcome).length).toBeLessThan(600);
  });

  test('texts print as in Rust', () => {
    const outcome = runTurn(
      one((s) => s.activity('A', 'q"\\\n\t\u0001\u200b')),
      { history: started().timer() },
    );
    expect(failureOf(outcome)).toContain('input: "q\\"\\\\\\n\\t\\u{1}\\u{200b}"');
  });
});

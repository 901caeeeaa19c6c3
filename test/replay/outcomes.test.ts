import { describe, expect, test } from '@jest/globals';
import type { HistoryBuilder } from '../support/history-builder.js';
import { message, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok } from '../support/script.js';
import type { TurnOptions } from '../support/turns.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

const one =
  (branch: (s: Parameters<Script>[0]) => ReturnType<Parameters<Script>[0]['activity']>): Script =>
  (s) =>
    (function* () {
      return ok(yield* branch(s));
    })();

const activity = one((s) => s.activity('A'));
const timer = one((s) => s.timer());
const event = one((s) => s.event('go'));
const child = one((s) => s.child('C'));

const two: Script = function* (s) {
  const first = ok(yield* s.activity('A', '1'));
  const second = ok(yield* s.activity('A', '1'));
  return `${first}+${second}`;
};

const both: Script = function* (s) {
  const outcomes = yield* s.all([s.activity('A', '1'), s.activity('A', '1')]);
  return outcomes.map(ok).join('+');
};

interface Case {
  readonly id: string;
  readonly rule: string;
  readonly code: Script;
  readonly history: HistoryBuilder;
  readonly messages?: TurnOptions['messages'];
  readonly output?: string;
  readonly failure?: string;
  /** Kinds of the events that the turn writes, for turns that go on. */
  readonly writes?: readonly string[];
}

const cases: readonly Case[] = [
  {
    id: 'R:RP-01',
    rule: 'a stored result completes the code, with nothing new',
    code: activity,
    history: started().activity('A').activityDone(2, '"r"'),
    output: '"r"',
  },
  {
    id: 'R:RP-02',
    rule: 'a stored failure reaches the code',
    code: activity,
    history: started().activity('A').activityFailed(2, 'boom'),
    failure: 'boom',
  },
  {
    id: 'R:RP-03',
    rule: 'a stored timer that fired completes the code',
    code: timer,
    history: started().timer().timerFired(2),
    output: 'null',
  },
  {
    id: 'R:RP-04',
    rule: 'a stored event completes the code with its data',
    code: event,
    history: started().subscribed('go').event('go', '"e"'),
    output: '"e"',
  },
  {
    id: 'R:RP-05',
    rule: 'a stored child result completes the code',
    code: child,
    history: started().child('C').childDone(2, '"c"'),
    output: '"c"',
  },
  {
    id: 'R:RP-06',
    rule: 'an activity without outcome: nothing new',
    code: activity,
    history: started().activity('A'),
    writes: [],
  },
  {
    id: 'R:RP-07',
    rule: 'a timer that has not fired: nothing new',
    code: timer,
    history: started().timer(),
    writes: [],
  },
  {
    id: 'R:RP-08',
    rule: 'a subscription without event: nothing new',
    code: event,
    history: started().subscribed('go'),
    writes: [],
  },
  {
    id: 'R:RP-09',
    rule: 'a child without outcome: nothing new',
    code: child,
    history: started().child('C'),
    writes: [],
  },
  {
    id: 'R:RP-10',
    rule: 'the second of two activities is new when the first is done',
    code: two,
    history: started().activity('A').activityDone(2),
    writes: ['ActivityScheduled'],
  },
  {
    id: 'R:RP-11',
    rule: 'two activities in a row, both done',
    code: two,
    history: started().activity('A').activityDone(2, '1').activity('A').activityDone(4, '2'),
    output: '1+2',
  },
  {
    id: 'R:RP-12',
    rule: 'equal activities get their own results by their ids',
    code: both,
    history: started().activity('A').activity('A').activityDone(3, 'second').activityDone(2, 'first'),
    output: 'first+second',
  },
  {
    id: 'R:RP-13 R:RP-20',
    rule: 'equal activities with a restart between the outcomes',
    code: both,
    history: started().activity('A').activity('A').activityDone(3, 'second'),
    messages: [message.activityDone(2, 'first')],
    output: 'first+second',
  },
  {
    id: 'R:RP-14',
    rule: 'a timer after a done activity is new',
    code: function* (s) {
      ok(yield* s.activity('A'));
      return ok(yield* s.timer());
    },
    history: started().activity('A').activityDone(2),
    writes: ['TimerCreated'],
  },
  {
    id: 'R:RP-15',
    rule: 'an activity after a fired timer is new',
    code: function* (s) {
      ok(yield* s.timer());
      return ok(yield* s.activity('A'));
    },
    history: started().timer().timerFired(2),
    writes: ['ActivityScheduled'],
  },
  {
    id: 'R:RP-16',
    rule: 'ten activities in a row',
    code: function* (s) {
      const results: string[] = [];
      for (let i = 0; i < 10; i++) results.push(ok(yield* s.activity('A', String(i))));
      return results.join();
    },
    history: Array.from({ length: 10 }, (_, i) => i).reduce(
      (history, i) => history.activity('A', String(i)).activityDone(2 + 2 * i, `r${i}`),
      started(),
    ),
    output: 'r0,r1,r2,r3,r4,r5,r6,r7,r8,r9',
  },
  {
    id: 'R:RP-17 R:JR-10',
    rule: 'outcomes out of order reach their own calls, results keep the order of the calls',
    code: function* (s) {
      const outcomes = yield* s.all(['a', 'b', 'c'].map((input) => s.activity('A', input)));
      return outcomes.map(ok).join();
    },
    history: started()
      .activity('A', 'a')
      .activity('A', 'b')
      .activity('A', 'c')
      .activityDone(4, 'C')
      .activityDone(2, 'A')
      .activityDone(3, 'B'),
    output: 'A,B,C',
  },
  {
    id: 'R:RP-18',
    rule: 'the outcome of work that nobody waits for disturbs nobody',
    code: function* (s) {
      s.emit({ kind: 'scheduleActivity', name: 'Loose', input: '1' });
      return ok(yield* s.event('go'));
    },
    history: started().activity('Loose').subscribed('go').activityDone(2),
    messages: [message.raised('go', '"now"')],
    output: '"now"',
  },
  {
    id: 'R:RP-19',
    rule: 'a result of 100 kB survives',
    code: activity,
    history: started().activity('A').activityDone(2, 'x'.repeat(100_000)),
    output: 'x'.repeat(100_000),
  },
  {
    id: 'R:FF-01',
    rule: 'a failure can be handled',
    code: function* (s) {
      const outcome = yield* s.activity('A');
      return outcome.ok ? 'fine' : `handled ${outcome.text}`;
    },
    history: started().activity('A').activityFailed(2, 'boom'),
    output: 'handled boom',
  },
  {
    id: 'R:FF-05',
    rule: 'a child’s failure reaches the code',
    code: child,
    history: started().child('C').childFailed(2, 'child boom'),
    failure: 'child boom',
  },
];

describe('replay with stored outcomes', () => {
  test.each(cases.map((item) => [item.id, item.rule, item] as const))('%s %s', (_id, _rule, item) => {
    const outcome = runTurn(item.code, { history: item.history, messages: item.messages ?? [] });
    if (item.output !== undefined) expect(outputOf(outcome)).toBe(item.output);
    else if (item.failure !== undefined) expect(failureOf(outcome)).toBe(item.failure);
    else {
      expect(outcome.result.kind).toBe('continued');
      expect(kinds(outcome)).toEqual(item.writes);
    }
  });

  test('R:ID-10 the history after a turn is what was stored and what it wrote', () => {
    const history = started().activity('A');
    const outcome = runTurn(activity, { history, messages: [message.activityDone(2)] });
    expect(outcome.eventCount).toBe(history.events.length + outcome.historyDelta.length);
    expect(outcome.lastEvent).toBe(outcome.historyDelta.at(-1));
    expect(written(outcome)).toEqual([
      { kind: 'ActivityCompleted', result: '"done"', source: 2 },
      { kind: 'OrchestrationCompleted', output: '"done"' },
    ]);
  });

  test('a turn without news changes nothing and keeps the last event', () => {
    const history = started().activity('A');
    const outcome = runTurn(activity, { history });
    expect(outcome.historyDelta).toEqual([]);
    expect(outcome.lastEvent).toBe(history.events.at(-1));
  });
});

import { describe, expect, test } from '@jest/globals';
import { message, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok, scripted } from '../support/script.js';
import { Simulation } from '../support/simulation.js';
import { kinds, outputOf, runTurn } from '../support/turns.js';

type S = Parameters<Script>[0];

const racing =
  (...branches: ((s: S) => ReturnType<S['activity']>)[]): Script =>
  (s) =>
    (function* () {
      const { index, value } = yield* s.race(...branches.map((branch) => branch(s)));
      return `${index}:${value.text}`;
    })();

const joining =
  (...branches: ((s: S) => ReturnType<S['activity']>)[]): Script =>
  (s) =>
    (function* () {
      const outcomes = yield* s.all(branches.map((branch) => branch(s)));
      return outcomes.map((outcome) => `${outcome.ok ? '' : '!'}${outcome.text}`).join();
    })();

const activityOrTimer = racing(
  (s) => s.activity('A'),
  (s) => s.timer(),
);
const eventOrTimer = racing(
  (s) => s.event('e'),
  (s) => s.timer(),
);

describe('races', () => {
  test('R:JR-01 the activity first', () => {
    const history = started().activity('A').timer().activityDone(2, 'r').timerFired(3);
    expect(outputOf(runTurn(activityOrTimer, { history }))).toBe('0:r');
  });
  test('R:JR-02 the timer first', () => {
    const history = started().activity('A').timer().timerFired(3).activityDone(2, 'r');
    expect(outputOf(runTurn(activityOrTimer, { history }))).toBe('1:null');
  });
  test('R:JR-03 nothing is ready', () => {
    expect(kinds(runTurn(activityOrTimer, { history: started().activity('A').timer() }))).toEqual([]);
  });

  test('R:JR-08 history order decides, not the order of the branches', () => {
    const code = racing(
      (s) => s.event('A'),
      (s) => s.event('B'),
    );
    const outcome = runTurn(code, {
      history: started().subscribed('A').subscribed('B'),
      messages: [message.raised('B', 'b'), message.raised('A', 'a')],
    });
    expect(outputOf(outcome)).toBe('1:b');
  });

  test.each([
    ['activity', message.activityDone(2, 'x'), '0:x'],
    ['event', message.raised('e', 'x'), '1:x'],
    ['timer', message.timerFired(4), '2:null'],
    ['child', message.childDone(5, 'x'), '3:x'],
    ['mailbox', message.queued('q', 'x'), '4:x'],
  ])('R:JR-09 a race of five kinds is won by the %s that comes first', (_what, item, output) => {
    const code = racing(
      (s) => s.activity('A'),
      (s) => s.event('e'),
      (s) => s.timer(),
      (s) => s.child('C'),
      (s) => s.dequeue('q'),
    );
    const history = started().activity('A').subscribed('e').timer().child('C').dequeued('q');
    expect(outputOf(runTurn(code, { history, messages: [item] }))).toBe(output);
  });

  test('R:JR-11 R:JR-12 the loser’s outcome does not disturb what follows the winner', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.activity('A'), s.timer());
      const more = ok(yield* s.activity('B'));
      return `${index}:${more}`;
    };
    const history = started().activity('A').timer().activityDone(2).activity('B').timerFired(3);
    expect(outputOf(runTurn(code, { history, messages: [message.activityDone(5, 'b')] }))).toBe('0:b');
  });

  test.each([
    ['R:JR-13', [message.raised('e', 'x'), message.timerFired(3)], '0:x'],
    ['R:JR-14', [message.timerFired(3), message.raised('e', 'x')], '1:null'],
  ])('%s event against timer', (_id, messages, output) => {
    expect(outputOf(runTurn(eventOrTimer, { history: started().subscribed('e').timer(), messages }))).toBe(output);
  });

  test('two that are ready at the first poll: the lower branch wins', () => {
    const code = racing(
      (s) => s.dequeue('a'),
      (s) => s.dequeue('b'),
    );
    const messages = [message.queued('b', 'B'), message.queued('a', 'A')];
    expect(outputOf(runTurn(code, { messages }))).toBe('0:A');
  });

  test('a failed branch wins, too', () => {
    const history = started().activity('A').timer();
    expect(outputOf(runTurn(activityOrTimer, { history, messages: [message.activityFailed(2, 'no')] }))).toBe('0:no');
  });

  test('C-29 the winner is the same on every replay, though the other lands later', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.event('e'), s.timer(300));
      const after = ok(yield* s.activity('slow'));
      return `${index},${after}`;
    };
    const sim = new Simulation({ driver: scripted(code) });
    sim.start();
    sim.turn(message.raised('e'));
    sim.turn(message.timerFired(3));
    sim.expectReplays();
    expect(sim.turn(message.activityDone(5, '1200')).result).toEqual({ kind: 'completed', output: '0,1200' });
  });

  test('R:JR-16 R:JR-17 R:JR-20 R:JR-21 R:JR-23 blocks of several steps race', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(
        s.block(function* () {
          ok(yield* s.child('first'));
          return yield* s.child('second');
        }),
        s.timer(),
      );
      return String(index);
    };
    const history = started().child('first').timer().childDone(2).child('second');
    const lost = runTurn(code, { history, messages: [message.timerFired(3)] });
    expect(outputOf(lost)).toBe('1');
    expect(lost.orchestratorItems).toMatchObject([{ kind: 'CancelInstance', instance: 'inst::sub::5' }]);
    expect(outputOf(runTurn(code, { history, messages: [message.childDone(5)] }))).toBe('0');
  });

  test('R:JR-18 of three blocks with timers the quickest wins', () => {
    const code: Script = function* (s) {
      const block = (steps: number) =>
        s.block(function* () {
          for (let i = 1; i < steps; i++) ok(yield* s.timer());
          return yield* s.timer();
        });
      const { index } = yield* s.race(block(3), block(1), block(2));
      return String(index);
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(message.timerFired(2));
    expect(sim.turn(message.timerFired(3)).result).toEqual({ kind: 'completed', output: '1' });
  });
});

describe('joins', () => {
  const both = joining(
    (s) => s.activity('A'),
    (s) => s.activity('B'),
  );

  test('R:JR-04 results stand in the order of the schedules', () => {
    const history = started().activity('A').activity('B').activityDone(3, 'b').activityDone(2, 'a');
    expect(outputOf(runTurn(both, { history }))).toBe('a,b');
  });
  test('R:JR-05 one is open', () => {
    const history = started().activity('A').activity('B').activityDone(3, 'b');
    expect(kinds(runTurn(both, { history }))).toEqual([]);
  });
  test('R:JR-07 R:JR-26 a failure is one element among the others', () => {
    const history = started().activity('A').activity('B').activityFailed(2, 'no').activityDone(3, 'b');
    expect(outputOf(runTurn(both, { history }))).toBe('!no,b');
  });
  test('R:JR-25 a join of different kinds', () => {
    const code = joining(
      (s) => s.activity('A'),
      (s) => s.timer(),
      (s) => s.event('e'),
      (s) => s.dequeue('q'),
      (s) => s.child('C'),
    );
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(message.raised('e', 'E'), message.childDone(6, 'C'));
    sim.turn(message.queued('q', 'Q'), message.timerFired(3));
    expect(sim.turn(message.activityDone(2, 'A')).result).toEqual({ kind: 'completed', output: 'A,null,E,Q,C' });
  });
  test('C-28 an empty join is done at once', () => {
    expect(outputOf(runTurn(joining()))).toBe('');
  });

  test('R:JR-15 R:JR-22 R:JR-24 blocks with children join', () => {
    const code: Script = function* (s) {
      const block = (name: string) =>
        s.block(function* () {
          const first = ok(yield* s.child(name));
          return `${first}${ok(yield* s.child(name))}`;
        });
      return (yield* s.all([block('a'), block('b')])).join();
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(message.childDone(3, 'b1'), message.childDone(2, 'a1'));
    // The second steps were emitted in the order of the outcomes.
    expect(sim.turn(message.childDone(6, 'b2'), message.childDone(7, 'a2')).result).toEqual({
      kind: 'completed',
      output: 'a1a2,b1b2',
    });
  });

  test('R:JR-19 joins and races nest', () => {
    const code: Script = function* (s) {
      const { index, value } = yield* s.race(
        s.block(function* () {
          return (yield* s.all([s.activity('A'), s.activity('B')])).map(ok).join();
        }),
        s.block(function* () {
          const inner = yield* s.race(s.event('stop'), s.timer());
          return `stopped by ${inner.index}`;
        }),
      );
      return `${index}: ${value}`;
    };
    const history = started().activity('A').activity('B').subscribed('stop').timer();
    expect(outputOf(runTurn(code, { history, messages: [message.timerFired(5)] }))).toBe('1: stopped by 1');
    const messages = [message.activityDone(3, 'b'), message.activityDone(2, 'a'), message.timerFired(5)];
    expect(outputOf(runTurn(code, { history, messages }))).toBe('0: a,b');
  });

  test.each([1500, 5000])('C-28 R:JR-27 a join of %d', (width) => {
    const code: Script = function* (s) {
      const branches = Array.from({ length: width }, (_, i) => s.activity('Echo', String(i)));
      return (yield* s.all(branches)).map(ok).join();
    };
    const sim = new Simulation({ driver: scripted(code), warm: true });
    const first = sim.start();
    expect(first.workerItems).toHaveLength(width);
    const answers = first.workerItems.map((item) => {
      return item.kind === 'ActivityExecute' ? message.activityDone(item.id, item.input) : message.cancel();
    });
    const half = width / 2;
    sim.turn(...answers.slice(half).reverse());
    sim.crash();
    const last = sim.turn(...answers.slice(0, half).reverse());
    expect(last.result).toEqual({
      kind: 'completed',
      output: Array.from({ length: width }, (_, i) => String(i)).join(),
    });
  });
});

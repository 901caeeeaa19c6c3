import { describe, expect, test } from '@jest/globals';
import { message, started } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok, scripted } from '../support/script.js';
import { Simulation } from '../support/simulation.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

const raised = message.raised;
const queued = message.queued;

/** Takes so many events of one name, one after the other. */
const events =
  (count: number): Script =>
  (s) =>
    (function* () {
      const seen: string[] = [];
      while (seen.length < count) seen.push(ok(yield* s.event('e')));
      return seen.join();
    })();
const messages =
  (count: number): Script =>
  (s) =>
    (function* () {
      const seen: string[] = [];
      while (seen.length < count) seen.push(ok(yield* s.dequeue('q')));
      return seen.join();
    })();

describe('positional events', () => {
  test('R:EV-01 R:EV-09 a wait gets the next event, an empty payload included', () => {
    expect(outputOf(runTurn(events(1), { history: started().subscribed('e'), messages: [raised('e', '')] }))).toBe('');
  });

  test('R:EV-02 R:EV-13 an event before the wait is lost; the wait needs a new one', () => {
    const code: Script = function* (s) {
      ok(yield* s.timer());
      return ok(yield* s.event('e'));
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(raised('e', 'early'));
    sim.turn(message.timerFired(2));
    expect(sim.turn(raised('e', 'late')).result).toEqual({ kind: 'completed', output: 'late' });
  });

  test('R:EV-04 R:EV-05 two waits, two raises in two batches, equal payloads included', () => {
    const sim = new Simulation({ driver: scripted(events(2)), warm: true, verify: true });
    sim.start();
    sim.turn(raised('e', 'x'));
    expect(sim.turn(raised('e', 'x')).result).toEqual({ kind: 'completed', output: 'x,x' });
  });

  test('R:EV-04 waits that are open together are served in their order', () => {
    const code: Script = function* (s) {
      return (yield* s.all([s.event('e'), s.event('e')])).map(ok).join();
    };
    const outcome = runTurn(code, {
      history: started().subscribed('e').subscribed('e'),
      messages: [raised('e', '1'), raised('e', '2'), raised('e', '3')],
    });
    expect(outputOf(outcome)).toBe('1,2');
  });

  test('D-03 R:T-02 two events of one batch for two waits in a row: the second is lost, as in native', () => {
    const sim = new Simulation({ driver: scripted(events(2)), warm: true, verify: true });
    sim.start();
    const both = sim.turn(raised('e', '1'), raised('e', '2'));
    expect(both.result.kind).toBe('continued');
    expect(both.warnings).toEqual([{ kind: 'eventNotDelivered', name: 'e' }]);
    expect(both.keepWarm).toBe(false);
    expect(sim.turn(raised('e', '3')).result).toEqual({ kind: 'completed', output: '1,3' });
  });

  test('R:EV-06 a wait that lost a race leaves the next event to the next wait, in another batch', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.event('e'), s.timer());
      return `${index}:${ok(yield* s.event('e'))}`;
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(message.timerFired(3));
    expect(sim.turn(raised('e', 'x')).result).toEqual({ kind: 'completed', output: '1:x' });
    expect(sim.warmTurns).toBe(2);
  });

  describe('D-14 a wait that lost its race gets a stale event later, as in native', () => {
    const loop: Script = function* (s) {
      const won: string[] = [];
      for (let round = 0; round < 2; round++) {
        const { index, value } = yield* s.race(s.event('e'), s.timer());
        won.push(`${index}:${value.text}`);
      }
      return won.join();
    };

    test('the event is accepted for the dead wait, and the next wait reads it at the next poll', () => {
      const sim = new Simulation({ driver: scripted(loop), warm: true, verify: true });
      sim.start();
      const lost = sim.turn(message.timerFired(3), raised('e', 'stale'));
      expect(kinds(lost)).toEqual([
        'TimerFired',
        'ExternalEvent',
        'ExternalSubscribed',
        'TimerCreated',
        'ExternalSubscribedCancelled',
      ]);
      expect(lost.keepWarm).toBe(false);
      // A timer fires, and yet the race returns the stale event.
      const last = sim.turn(message.timerFired(7));
      expect(last.result).toEqual({ kind: 'completed', output: '1:null,0:stale' });
      expect(written(last)).toContainEqual({
        kind: 'ExternalSubscribedCancelled',
        reason: 'orchestration_terminal',
        source: 6,
      });
    });

    test('a stale event that is consumed in the turn of its subscription replays (2.4)', () => {
      // The subscription is bound with an arrival waiting, so the code is polled there.
      const code: Script = function* (s) {
        yield* s.race(s.event('e'), s.timer());
        ok(yield* s.activity('A'));
        const stale = ok(yield* s.event('e'));
        return `${stale}${ok(yield* s.activity('B'))}`;
      };
      const sim = new Simulation({ driver: scripted(code) });
      sim.start();
      sim.turn(message.timerFired(3), raised('e', 'stale'));
      const turn = sim.turn(message.activityDone(6));
      expect(kinds(turn)).toEqual(['ActivityCompleted', 'ExternalSubscribed', 'ActivityScheduled']);
      sim.expectReplays();
      expect(sim.turn(message.activityDone(10, '!')).result).toEqual({ kind: 'completed', output: 'stale!' });
    });
  });

  test('R:QE-06 an event and a message of one name do not meet', () => {
    const code: Script = function* (s) {
      return (yield* s.all([s.event('x'), s.dequeue('x')])).map(ok).join();
    };
    const history = started().subscribed('x').dequeued('x');
    const outcome = runTurn(code, { history, messages: [queued('x', 'message'), raised('x', 'event')] });
    expect(outputOf(outcome)).toBe('event,message');
  });

  test('names are exact', () => {
    const outcome = runTurn(events(1), { history: started().subscribed('e'), messages: [raised('E')] });
    expect(outcome.result.kind).toBe('continued');
  });
});

describe('mailboxes', () => {
  test.each([
    ['R:QE-01 dequeue then enqueue', started().dequeued('q'), [queued('q', '1')]],
    ['R:QE-02 enqueue before dequeue', undefined, [queued('q', '1')]],
  ])('%s', (_what, history, items) => {
    expect(outputOf(runTurn(messages(1), { ...(history && { history }), messages: items }))).toBe('1');
  });

  test('R:QE-03 R:QE-14 first in, first out, over turns and within one', () => {
    const sim = new Simulation({ driver: scripted(messages(5)), warm: true, verify: true });
    sim.start(queued('q', '1'), queued('q', '2'));
    sim.turn(queued('q', '3'));
    sim.crash();
    sim.turn(queued('q', '4'));
    expect(sim.turn(queued('q', '5')).result).toEqual({ kind: 'completed', output: '1,2,3,4,5' });
  });

  test('R:QE-13 queues do not mix', () => {
    const code: Script = function* (s) {
      const seen: string[] = [];
      for (const name of ['a', 'b', 'a', 'b']) seen.push(ok(yield* s.dequeue(name)));
      return seen.join();
    };
    const items = [queued('b', 'b1'), queued('b', 'b2'), queued('a', 'a1'), queued('a', 'a2')];
    expect(outputOf(runTurn(code, { messages: items }))).toBe('a1,b1,a2,b2');
  });

  test('R:QE-04 R:QE-07 R:EV-06 D-26 a wait that lost consumes nothing; its successor takes the message of the same batch', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.dequeue('q'), s.timer());
      const got = ok(yield* s.dequeue('q'));
      return `${index}:${got}:${ok(yield* s.activity('A'))}`;
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    const turn = sim.turn(message.timerFired(3), queued('q', 'm1'), queued('q', 'm2'));
    expect(written(turn)).toMatchObject([
      { kind: 'TimerFired' },
      { kind: 'ExternalEventPersistent' },
      { kind: 'ExternalEventPersistent' },
      { kind: 'ExternalSubscribedPersistentCancelled', source: 2 },
      { kind: 'ExternalSubscribedPersistent' },
      { kind: 'ActivityScheduled' },
    ]);
    sim.expectReplays();
    const last = sim.turn(message.activityDone(9, 'done'));
    expect(last.result).toEqual({ kind: 'completed', output: '1:m1:done' });
    expect(last.historyDelta.filter(({ kind }) => kind === 'ExternalSubscribedPersistentCancelled')).toEqual([]);
  });

  test('D-26 the loop that fails native’s own replay', () => {
    const code: Script = function* (s) {
      const seen: string[] = [];
      while (seen.length < 4) {
        const { index, value } = yield* s.race(s.dequeue('q'), s.timer());
        seen.push(index === 0 ? value.text : '-');
      }
      return seen.join();
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(message.timerFired(3), queued('q', 'm1'));
    sim.crash();
    sim.turn(queued('q', 'm2'), queued('q', 'm3'));
    sim.expectReplays();
    expect(sim.last?.result).toEqual({ kind: 'completed', output: '-,m1,m2,m3' });
  });

  test('D-27 a wait that is dropped inside the settle loop frees its place', () => {
    const code: Script = function* (s) {
      const { index } = yield* s.race(s.dequeue('d'), s.dequeue('q'));
      return `${index}:${ok(yield* s.dequeue('q'))}:${ok(yield* s.dequeue('q'))}`;
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    const first = sim.start(queued('d', 'D'), queued('q', 'm1'));
    expect(first.result.kind).toBe('continued');
    expect(kinds(first)).toEqual([
      'ExternalEventPersistent',
      'ExternalEventPersistent',
      'ExternalSubscribedPersistent',
      'ExternalSubscribedPersistent',
      'ExternalSubscribedPersistentCancelled',
      'ExternalSubscribedPersistent',
      'ExternalSubscribedPersistent',
    ]);
    sim.expectReplays();
    sim.crash();
    expect(sim.turn(queued('q', 'm2')).result).toEqual({ kind: 'completed', output: '0:m1:m2' });
  });

  test('native’s histories of such a loser replay: it keeps its place until its breadcrumb', () => {
    // race(dequeue d, dequeue q), both buffered: d wins in the settle loop, native marks the
    // loser only at the end of the turn, so the successor (6) takes the second message.
    const code: Script = function* (s) {
      yield* s.race(s.dequeue('d'), s.dequeue('q'));
      const got = ok(yield* s.dequeue('q'));
      return `${got}${ok(yield* s.activity('A', got))}`;
    };
    const history = started()
      .message('d', 'D')
      .message('q', 'm1')
      .message('q', 'm2')
      .dequeued('d')
      .dequeued('q')
      .dequeued('q')
      .activity('A', 'm2')
      .dequeueCancelled(6);
    expect(outputOf(runTurn(code, { history, messages: [message.activityDone(8, '!')] }))).toBe('m2!');
  });

  test('native’s order, breadcrumb at the end, replays for a loser of the walk', () => {
    const code: Script = function* (s) {
      yield* s.race(s.dequeue('q'), s.timer());
      const got = ok(yield* s.dequeue('q'));
      return ok(yield* s.activity('A', got));
    };
    const history = started()
      .dequeued('q')
      .timer()
      .timerFired(3)
      .message('q', 'm1')
      .dequeued('q')
      .activity('A', 'm1')
      .dequeueCancelled(2);
    expect(outputOf(runTurn(code, { history, messages: [message.activityDone(7, 'fine')] }))).toBe('fine');
  });

  test('R:QE-09 of several waits only those that still count receive', () => {
    const code: Script = function* (s) {
      for (let i = 0; i < 3; i++) yield* s.race(s.dequeue('q'), s.timer());
      return ok(yield* s.dequeue('q'));
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    for (const timer of [3, 7, 11]) sim.turn(message.timerFired(timer));
    expect(sim.turn(queued('q', 'm')).result).toEqual({ kind: 'completed', output: 'm' });
  });

  test('a wait beside a race that loses takes the message that is due to it, and none is lost', () => {
    // Several waits of one mailbox at once: only nesting can write this, and native's Node API has none.
    const code: Script = function* (s) {
      const [, got] = yield* s.all([
        s.block(function* () {
          return (yield* s.race(s.dequeue('d'), s.dequeue('q'))).value;
        }),
        s.dequeue('q'),
      ]);
      return `${got?.text}:${ok(yield* s.dequeue('q'))}:${ok(yield* s.activity('A'))}`;
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    const first = sim.start(queued('d', 'D'), queued('q', 'm1'), queued('q', 'm2'));
    sim.expectReplays();
    const scheduled = first.historyDelta.find(({ kind }) => kind === 'ActivityScheduled');
    const last = sim.turn(message.activityDone(scheduled?.eventId ?? 0, '!'));
    expect(last.result).toEqual({ kind: 'completed', output: 'm1:m2:!' });
  });

  test.each([99, 100, 1500])('D-04 R:T-03 %d buffered messages are drained in one turn', (count) => {
    const items = Array.from({ length: count }, (_, i) => queued('q', String(i)));
    expect(outputOf(runTurn(messages(count), { messages: items }))).toBe(
      Array.from({ length: count }, (_, i) => String(i)).join(),
    );
  });

  test('the settle loop has an end: its last iteration is recorded, then the instance fails', () => {
    const items = Array.from({ length: 20 }, (_, i) => queued('q', String(i)));
    const outcome = runTurn(messages(20), { messages: items, limits: { maxSettleIterations: 10 } });
    expect(outcome.result).toMatchObject({ details: { kind: 'Infrastructure', operation: 'quiescence_loop' } });
    expect(failureOf(outcome)).toMatch(/10 iterations/);
    expect(kinds(outcome).filter((kind) => kind === 'ExternalSubscribedPersistent')).toHaveLength(11);
  });

  test('also when the code returns in that iteration', () => {
    const items = Array.from({ length: 10 }, (_, i) => queued('q', String(i)));
    const at = (limit: number) => runTurn(messages(10), { messages: items, limits: { maxSettleIterations: limit } });
    expect(at(10).result.kind).toBe('failed');
    expect(at(11).result.kind).toBe('completed');
  });

  test('R:QE-05 R:QE-08 at the end: an extra message is nobody’s, an open wait gets its breadcrumb', () => {
    const code: Script = function* (s) {
      s.emit({ kind: 'dequeueEvent', name: 'other' });
      return ok(yield* s.dequeue('q'));
    };
    const outcome = runTurn(code, { messages: [queued('q', '1'), queued('q', '2')] });
    expect(outputOf(outcome)).toBe('1');
    expect(written(outcome)).toContainEqual({
      kind: 'ExternalSubscribedPersistentCancelled',
      reason: 'orchestration_terminal',
      source: 4,
    });
  });

  test('R:QE-10 R:QE-11 a long mix over many turns keeps its order', () => {
    const code: Script = function* (s) {
      const seen: string[] = [];
      for (let i = 0; i < 10; i++) {
        const { index, value } = yield* s.race(s.dequeue('q'), s.event('e'));
        seen.push(`${index}${value.text}`);
        seen.push(ok(yield* s.activity('A', String(i))));
      }
      seen.push(...(yield* s.all([s.dequeue('q'), s.event('e')])).map(ok));
      return seen.join(' ');
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start(queued('q', 'q0'));
    for (let i = 0; i < 10; i++) {
      if (i % 3 === 2) sim.crash();
      const [item] = sim.workerItems.splice(0);
      if (item?.kind !== 'ActivityExecute') throw new Error('no activity is scheduled');
      sim.turn(message.activityDone(item.id, `a${i}`));
      sim.turn(i % 2 === 0 ? raised('e', `e${i}`) : queued('q', `q${i}`));
    }
    sim.turn(raised('e', 'last'));
    expect(sim.last?.result).toEqual({
      kind: 'completed',
      output: '0q0 a0 1e0 a1 0q1 a2 1e2 a3 0q3 a4 1e4 a5 0q5 a6 1e6 a7 0q7 a8 1e8 a9 q9 last',
    });
  });
});

describe('what crosses a continue-as-new', () => {
  const consumeThenContinue =
    (take: number): Script =>
    (s) =>
      (function* () {
        if (s.info.executionId > 1) return ok(yield* s.dequeue('q'));
        for (let i = 0; i < take; i++) ok(yield* s.dequeue('q'));
        s.continueAsNew('1');
        return yield* never;
      })();

  test('R:QE-16 R:QE-17 C-32 what was not received comes first in the next execution, in order of arrival', () => {
    const sim = new Simulation({ driver: scripted(consumeThenContinue(1)) });
    sim.start(queued('other', 'o1'), queued('q', 'q1'), queued('q', 'q2'), queued('other', 'o2'), queued('q', 'q3'));
    expect(sim.orchestratorItems).toMatchObject([
      {
        kind: 'ContinueAsNew',
        carryForwardEvents: [
          ['other', 'o1'],
          ['q', 'q2'],
          ['other', 'o2'],
          ['q', 'q3'],
        ],
      },
    ]);
    const next = sim.continueAsNew(queued('q', 'newer'));
    expect(next.historyDelta.slice(0, 6).map((event) => ('data' in event ? event.data : event.kind))).toEqual([
      'OrchestrationStarted',
      'o1',
      'q2',
      'o2',
      'q3',
      'newer',
    ]);
    expect(next.result).toEqual({ kind: 'completed', output: 'q2' });
  });

  test.each([
    ['nothing', [], []],
    ['arrivals only', [queued('q', '1'), queued('q', '2')], ['1', '2']],
  ])('R:QE-18 %s', (_what, items, carried) => {
    const outcome = runTurn(consumeThenContinue(0), { messages: items });
    expect(outcome.orchestratorItems).toMatchObject([{ carryForwardEvents: carried.map((data) => ['q', data]) }]);
  });

  test('R:QE-18 as many subscriptions as arrivals: nothing is carried', () => {
    const outcome = runTurn(consumeThenContinue(2), { messages: [queued('q', '1'), queued('q', '2')] });
    expect(outcome.orchestratorItems).toMatchObject([{ carryForwardEvents: [] }]);
  });

  test('R:QE-18 an open subscription consumes nothing and gets its breadcrumb', () => {
    const code: Script = function* (s) {
      s.emit({ kind: 'dequeueEvent', name: 'empty' });
      s.continueAsNew('1');
      return yield* never;
    };
    const outcome = runTurn(code, { messages: [queued('q', '1')] });
    expect(kinds(outcome)).toContain('ExternalSubscribedPersistentCancelled');
    expect(outcome.orchestratorItems).toMatchObject([{ carryForwardEvents: [['q', '1']] }]);
  });

  test('D-09 R:T-06 a message is not lost when its waiter loses in the turn of the continue-as-new', () => {
    const code: Script = function* (s) {
      yield* s.race(s.dequeue('q'), s.timer());
      s.continueAsNew('1');
      return yield* never;
    };
    const outcome = runTurn(code, {
      history: started().dequeued('q').timer(),
      messages: [message.timerFired(3), queued('q', 'kept')],
    });
    expect(outcome.orchestratorItems).toMatchObject([{ carryForwardEvents: [['q', 'kept']] }]);
  });

  test('R:QE-18 a cancelled subscription between others consumes nothing', () => {
    const code: Script = function* (s) {
      ok(yield* s.dequeue('q'));
      yield* s.race(s.dequeue('q'), s.timer());
      ok(yield* s.dequeue('q'));
      s.continueAsNew('1');
      return yield* never;
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start(queued('q', '1'));
    sim.turn(message.timerFired(5));
    sim.turn(queued('q', '2'), queued('q', '3'));
    expect(sim.orchestratorItems.at(-1)).toMatchObject({ carryForwardEvents: [['q', '3']] });
  });

  test('R:QE-19 the oldest hundred are kept', () => {
    const items = Array.from({ length: 130 }, (_, i) => queued('q', String(i)));
    const outcome = runTurn(consumeThenContinue(0), { messages: items });
    const [item] = outcome.orchestratorItems;
    if (item?.kind !== 'ContinueAsNew') throw new Error('no continue-as-new');
    expect(item.carryForwardEvents.map(([, data]) => data)).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
    expect(outcome.warnings).toEqual([{ kind: 'carryForwardTruncated', kept: 100, dropped: 30 }]);
  });

  test('R:QE-20 a configuration that comes by mailbox survives several executions', () => {
    const code: Script = function* (s) {
      const { index, value } = yield* s.race(s.dequeue('config'), s.timer());
      if (s.info.executionId === 3) return `${s.info.input} then ${index}:${value.text}`;
      s.continueAsNew(`${s.info.input}+${value.text}`);
      return yield* never;
    };
    const sim = new Simulation({ driver: scripted(code) });
    sim.start(queued('config', 'c1'), queued('config', 'c2'));
    sim.continueAsNew();
    const last = sim.continueAsNew(queued('config', 'c3'));
    expect(last.result).toEqual({ kind: 'completed', output: '"in"+c1+c2 then 0:c3' });
  });

  test('R:EV-10 R:EV-11 positional events do not cross', () => {
    const code: Script = function* (s) {
      if (s.info.executionId > 1) return ok(yield* s.event('e'));
      ok(yield* s.timer());
      s.continueAsNew('1');
      return yield* never;
    };
    const sim = new Simulation({ driver: scripted(code) });
    sim.start();
    sim.turn(raised('e', 'old'), message.timerFired(2));
    sim.continueAsNew();
    expect(sim.turn(raised('e', 'new')).result).toEqual({ kind: 'completed', output: 'new' });
  });
});

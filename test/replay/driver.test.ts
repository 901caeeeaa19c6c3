import { describe, expect, test } from '@jest/globals';
import type { CreateDriver, EnginePort, Token } from '../../src/runtime/replay/driver.js';
import { OutsideTurnError } from '../../src/runtime/replay/driver.js';
import { createExecution } from '../../src/runtime/replay/execution.js';
import type { LiveExecution, TurnOutcome } from '../../src/runtime/replay/turn.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { INSTANCE, message, started, T0 } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { ok, scripted } from '../support/script.js';
import { Simulation } from '../support/simulation.js';
import { START } from '../support/turns.js';

/** Runs a turn that nobody looks at. */
async function take(turn: TurnOutcome | Promise<TurnOutcome>): Promise<TurnOutcome> {
  return turn;
}

const cold = (messages: readonly WorkItem[] = []) => ({ history: [], start: START, messages, now: () => T0 });
const warm = (...messages: readonly WorkItem[]) => ({ messages, now: () => T0 });

/** Calls of a driver that come to their end only when the test says so. */
class Gate {
  private open: (() => void)[] = [];
  readonly log: string[] = [];

  pass(what: string): Promise<void> {
    this.log.push(what);
    return new Promise((resolve) => this.open.push(resolve));
  }
  /** Lets the oldest call end. */
  async next(): Promise<void> {
    this.open.shift()?.();
    for (let i = 0; i < 10; i++) await Promise.resolve();
  }
}

/** An async driver: an activity A, then an activity B with A's result, each step behind the gate. */
function gated(gate: Gate, name: string): CreateDriver {
  return (port: EnginePort) => {
    let step = 0;
    return {
      start: async () => {
        await gate.pass(`${name} start`);
        port.emit({ kind: 'scheduleActivity', name: 'A', input: name });
      },
      deliver: async (_token: Token, value: string | null) => {
        await gate.pass(`${name} deliver ${value}`);
        if (step++ === 0) port.emit({ kind: 'scheduleActivity', name: 'B', input: value ?? '' });
        else port.done({ kind: 'output', output: value ?? '' });
      },
    };
  };
}

describe('drivers that return promises', () => {
  test('a turn is a promise then, and two executions interleave without touching each other', async () => {
    const gate = new Gate();
    const make = (name: string) => {
      return createExecution({ instance: name, executionId: 1, createDriver: gated(gate, name) });
    };
    const [one, two] = [make('one'), make('two')];
    const first = [one.runCold(cold()), two.runCold(cold())];
    expect(first.every((turn) => turn instanceof Promise)).toBe(true);
    await gate.next();
    await gate.next();
    const [a, b] = await Promise.all(first.map(take));
    expect([a?.workerItems, b?.workerItems]).toMatchObject([
      [{ instance: 'one', name: 'A', input: 'one' }],
      [{ instance: 'two', name: 'A', input: 'two' }],
    ]);

    const done = (instance: string, id: number, result: string): WorkItem => {
      return { kind: 'ActivityCompleted', instance, executionId: 1, id, result };
    };
    const second = [two.runWarm(warm(done('two', 2, '2a'))), one.runWarm(warm(done('one', 2, '1a')))];
    await gate.next();
    await gate.next();
    const [c, d] = await Promise.all(second.map(take));
    expect([c?.workerItems, d?.workerItems]).toMatchObject([
      [{ instance: 'two', name: 'B', input: '2a' }],
      [{ instance: 'one', name: 'B', input: '1a' }],
    ]);
    expect(gate.log).toEqual(['one start', 'two start', 'two deliver 2a', 'one deliver 1a']);
  });

  test('an asynchronous replay decides what the synchronous one decides', async () => {
    const gate = new Gate();
    const history = started().activity('A', 'inst').activityDone(2, 'a').activity('B', 'a').events;
    const turn = createExecution({ instance: INSTANCE, executionId: 1, createDriver: gated(gate, 'inst') }).runCold({
      history,
      messages: [message.activityDone(4, '"end"')],
      now: () => T0,
    });
    for (let i = 0; i < 4; i++) await gate.next();
    expect((await turn).result).toEqual({ kind: 'completed', output: '"end"' });
    expect(gate.log).toEqual(['inst start', 'inst deliver a', 'inst deliver "end"']);
  });

  test('only one call of a driver is under way at a time', async () => {
    let depth = 0;
    let most = 0;
    const enter = async (act: () => void): Promise<void> => {
      most = Math.max(most, ++depth);
      await Promise.resolve();
      act();
      depth--;
    };
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: (port) => ({
        start: () =>
          enter(() => {
            for (let i = 0; i < 5; i++) port.emit({ kind: 'dequeueEvent', name: 'q' });
          }),
        deliver: () => enter(() => undefined),
      }),
    });
    await execution.runCold(cold(Array.from({ length: 5 }, () => message.queued('q'))));
    expect(most).toBe(1);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('foreign await');
      },
    ],
    ['rejects', () => Promise.reject(new Error('foreign await'))],
  ])('a driver that %s aborts the turn: nothing is decided and the execution is unusable', async (_how, start) => {
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: () => ({ start, deliver: () => undefined }),
    });
    await expect((async () => execution.runCold(cold()))()).rejects.toThrow('foreign await');
    expect(() => execution.runWarm(warm())).toThrow(/cannot go on/);
    expect(() => execution.runCold(cold())).toThrow(/only once/);
  });
});

describe('the port', () => {
  test('it works only while a call of the driver is under way', async () => {
    let port: EnginePort | undefined;
    const gate = new Gate();
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: (given) => {
        port = given;
        return { start: () => gate.pass('start'), deliver: () => undefined };
      },
    });
    const uses: ((port: EnginePort) => unknown)[] = [
      (p) => p.emit({ kind: 'createTimer', delayMs: 1 }),
      (p) => p.drop(1),
      (p) => p.done({ kind: 'output', output: '' }),
      (p) => p.keyValues.get('k'),
      (p) => p.keyValues.entries(),
      (p) => p.keyValues.size,
      (p) => p.keyValues.set('k', 'v'),
      (p) => p.keyValues.clear('k'),
      (p) => p.keyValues.clearAll(),
      (p) => p.keyValues.pruneUpdatedBefore(1),
      (p) => p.customStatus.get(),
      (p) => p.customStatus.latest(),
      (p) => p.customStatus.set('s'),
    ];
    const turn = execution.runCold(cold());
    expect(port?.active).toBe(true);
    expect(() => port?.keyValues.size).not.toThrow();
    await gate.next();
    await turn;
    expect(port?.active).toBe(false);
    for (const use of uses) expect(() => port && use(port)).toThrow(OutsideTurnError);
    expect(port?.replaying).toBe(false);
  });

  test('tokens of one poll come in ascending order, a dropped one not at all', () => {
    const delivered: Token[] = [];
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: (port) => ({
        start: () => {
          for (let i = 0; i < 4; i++) port.emit({ kind: 'dequeueEvent', name: `q${i}` });
        },
        deliver: (token) => {
          delivered.push(token);
          if (token === 1) port.drop(3);
        },
      }),
    });
    void execution.runCold(cold([3, 2, 1, 0].map((i) => message.queued(`q${i}`))));
    expect(delivered).toEqual([1, 2, 4]);
  });

  test('after the end nothing is delivered', () => {
    const delivered: Token[] = [];
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: (port) => ({
        start: () => {
          port.emit({ kind: 'dequeueEvent', name: 'a' });
          port.emit({ kind: 'dequeueEvent', name: 'b' });
        },
        deliver: (token) => {
          delivered.push(token);
          port.done({ kind: 'output', output: '"x"' });
        },
      }),
    });
    const outcome = execution.runCold(cold([message.queued('a'), message.queued('b')])) as TurnOutcome;
    expect(delivered).toEqual([1]);
    expect(outcome.result.kind).toBe('completed');
  });
});

describe('warm turns', () => {
  const chain: Script = function* (s) {
    const seen: string[] = [];
    for (let i = 0; i < 3; i++) seen.push(ok(yield* s.activity('A', String(i))));
    return seen.join();
  };

  test('the code is not entered again, and decides the same as a replay from the start', () => {
    let starts = 0;
    const sim = new Simulation({
      driver: scripted(function* (s) {
        starts++;
        return yield* chain(s);
      }),
      warm: true,
    });
    sim.start();
    sim.turn(message.activityDone(2, 'a'));
    sim.turn(message.activityDone(4, 'b'));
    expect(sim.turn(message.activityDone(6, 'c')).result).toEqual({ kind: 'completed', output: 'a,b,c' });
    expect(starts).toBe(1);
    expect(sim.warmTurns).toBe(3);
  });

  test('outcomes are known without history: duplicates, unknown ids, wrong kinds', () => {
    const run = (second: WorkItem) => {
      const sim = new Simulation({ driver: scripted(chain), warm: true, verify: true });
      sim.start();
      sim.turn(message.activityDone(2, 'a'));
      return sim.turn(second);
    };
    expect(run(message.activityDone(2, 'again')).historyDelta).toEqual([]);
    expect(run(message.activityDone(99)).result.kind).toBe('failed');
    expect(run(message.timerFired(4)).result.kind).toBe('failed');
    expect(run(message.cancel()).result.kind).toBe('cancelled');
    expect(run(message.activityDone(4, 'x', 7)).historyDelta).toEqual([]);
  });

  test('a warm execution keeps nothing that has been used, and says how much it keeps', () => {
    const run = (size: number): LiveExecution => {
      const execution = createExecution({
        instance: INSTANCE,
        executionId: 1,
        createDriver: scripted(function* (s) {
          for (;;) {
            ok(yield* s.dequeue('q'));
            ok(yield* s.activity('A'));
          }
        }),
      });
      void execution.runCold(cold());
      let id = 2;
      for (let i = 0; i < 50; i++) {
        void execution.runWarm(warm(message.queued('q', 'x'.repeat(size))));
        void execution.runWarm(warm(message.activityDone(id + 2, 'y'.repeat(size))));
        id += 4;
      }
      return execution;
    };
    expect(run(10_000).approximateBytes()).toBeLessThan(run(1).approximateBytes() + 1_000);
  });

  test('waiting messages and values count', () => {
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: scripted(function* (s) {
        s.port.keyValues.set('k', 'v'.repeat(1000));
        return ok(yield* s.event('never'));
      }),
    });
    void execution.runCold(cold());
    const before = execution.approximateBytes();
    expect(before).toBeGreaterThan(2000);
    void execution.runWarm(warm(message.queued('q', 'x'.repeat(5000))));
    expect(execution.approximateBytes() - before).toBeGreaterThan(10_000);
  });

  test('a turn that ends the execution leaves nothing to go on with', () => {
    const execution = createExecution({
      instance: INSTANCE,
      executionId: 1,
      createDriver: scripted(function* (s) {
        return ok(yield* s.activity('A'));
      }),
    });
    void execution.runCold(cold());
    void execution.runWarm(warm(message.activityDone(2)));
    expect(() => execution.runWarm(warm())).toThrow(/cannot go on/);
  });

  test('a new execution begins cold', () => {
    const execution = createExecution({ instance: INSTANCE, executionId: 1, createDriver: scripted(chain) });
    expect(() => execution.runWarm(warm())).toThrow(/cannot go on/);
  });
});

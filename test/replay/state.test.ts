import { describe, expect, test } from '@jest/globals';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import { HistoryBuilder, message, started, T0 } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok, scripted, ScriptFailure } from '../support/script.js';
import { Simulation } from '../support/simulation.js';
import { failureOf, kinds, outputOf, runTurn, written } from '../support/turns.js';

type S = Parameters<Script>[0];

const seed = (values: Readonly<Record<string, [string, number]>>) =>
  new Map(Object.entries(values).map(([key, [value, lastUpdatedAtMs]]) => [key, { value, lastUpdatedAtMs }]));

/** Changes the store, then waits for an activity, then tells what it holds. */
const kvThen =
  (change: (s: S) => void): Script =>
  (s) =>
    (function* () {
      change(s);
      ok(yield* s.activity('A'));
      return JSON.stringify(Object.fromEntries(s.port.keyValues.entries()));
    })();

describe('custom status', () => {
  const setting =
    (...texts: (string | null)[]): Script =>
    (s) =>
      (function* () {
        for (const text of texts) s.port.customStatus.set(text);
        ok(yield* s.activity('A'));
        return String(s.port.customStatus.get());
      })();

  test('R:CS-01 R:CS-03 each set is an event, the last one is what counts', () => {
    const outcome = runTurn(setting('one', 'two'));
    expect(written(outcome).slice(0, 2)).toEqual([
      { kind: 'CustomStatusUpdated', status: 'one' },
      { kind: 'CustomStatusUpdated', status: 'two' },
    ]);
    expect(outcome.customStatus).toBe('two');
  });
  test('R:CS-02 a reset clears it', () => {
    const outcome = runTurn(setting('one', null));
    expect(written(outcome)).toContainEqual({ kind: 'CustomStatusUpdated', status: null });
    expect(outcome.customStatus).toBeNull();
  });
  test('R:CS-04 R:CS-11 it stays over turns', () => {
    const outcome = runTurn(setting('one'), { history: started().status('one').activity('A').activityDone(3) });
    expect(outputOf(outcome)).toBe('one');
  });
  test('R:CS-06 without a set there is none', () => {
    expect(runTurn(setting()).customStatus).toBeNull();
  });
  test('R:CS-07 it is recorded in a failing turn', () => {
    const outcome = runTurn(function* (s) {
      s.port.customStatus.set('before the end');
      yield* s.all([]);
      throw new ScriptFailure('end');
    });
    expect(kinds(outcome)).toEqual(['CustomStatusUpdated', 'OrchestrationFailed']);
  });
  test('a stored update that the code does not make is tolerated', () => {
    const outcome = runTurn(setting(), { history: started().status('old').at(3).activity('A') });
    expect(failureOf(outcome)).toMatch(/^custom status mismatch: action=CallActivity .* vs event=CustomStatusUpdated/);
    const alone = runTurn(setting(), { history: started().activity('A').status('old') });
    expect(alone.result.kind).toBe('continued');
  });

  describe('after continue-as-new', () => {
    test('R:CS-10 the last value is carried; a cleared one is not', () => {
      const next =
        (...texts: (string | null)[]): Script =>
        (s) =>
          (function* () {
            for (const text of texts) s.port.customStatus.set(text);
            s.continueAsNew('1');
            return yield* never;
          })();
      expect(runTurn(next('a', 'b')).orchestratorItems).toMatchObject([{ initialCustomStatus: 'b' }]);
      expect(runTurn(next('a', null)).orchestratorItems).toMatchObject([{ initialCustomStatus: undefined }]);
      expect(runTurn(next(), { start: { initialCustomStatus: 'carried' } }).orchestratorItems).toMatchObject([
        { initialCustomStatus: 'carried' },
      ]);
    });

    test('R:CS-11 D-12 R:T-12 a status set before the first wait reads back as the carried one, in storage it is new', () => {
      const code: Script = function* (s) {
        const before = s.port.customStatus.get();
        s.port.customStatus.set('s2');
        const own = s.port.customStatus.get();
        ok(yield* s.activity('A'));
        const after = s.port.customStatus.get();
        s.port.customStatus.set('s3');
        return [before, own, after, s.port.customStatus.get(), s.port.customStatus.latest()].join();
      };
      const sim = new Simulation({
        driver: scripted(function* (s) {
          if (s.info.executionId === 2) return yield* code(s);
          s.port.customStatus.set('s1');
          s.continueAsNew('1');
          return yield* never;
        }),
        warm: true,
        verify: true,
      });
      sim.start();
      const first = sim.continueAsNew();
      expect(first.keepWarm).toBe(false);
      expect(first.customStatus).toBe('s1');
      expect(written(first)).toContainEqual({ kind: 'CustomStatusUpdated', status: 's2' });
      expect(sim.turn(message.activityDone(3, '1', 2)).result).toEqual({
        kind: 'completed',
        output: 's1,s2,s1,s3,s3',
      });
    });

    test('the typed reading is the last value set', () => {
      const code: Script = function* (s) {
        s.port.customStatus.set('s2');
        ok(yield* s.activity('A'));
        return String(s.port.customStatus.latest());
      };
      const history = new HistoryBuilder(2).started({ initialCustomStatus: 's1' }).status('s2').activity('A');
      const outcome = runTurn(code, { executionId: 2, history, messages: [message.activityDone(3, '1', 2)] });
      expect(outputOf(outcome)).toBe('s2');
    });
  });
});

describe('key-value store', () => {
  test('R:KV-04 R:KV-07 R:KV-08 set, clear and clear-all are events in the order of the calls', () => {
    const outcome = runTurn(
      kvThen((s) => {
        s.port.keyValues.set('a', '1');
        s.emit({ kind: 'createTimer', delayMs: 1 });
        s.port.keyValues.clear('a');
        s.port.keyValues.clearAll();
      }),
      { nowMs: T0 + 5 },
    );
    expect(written(outcome)).toMatchObject([
      { kind: 'KeyValueSet', key: 'a', value: '1', lastUpdatedAtMs: T0 + 5 },
      { kind: 'TimerCreated' },
      { kind: 'KeyValueCleared', key: 'a' },
      { kind: 'KeyValuesCleared' },
      { kind: 'ActivityScheduled' },
    ]);
    expect(outcome.historyDelta.every(({ sourceEventId }) => sourceEventId === null)).toBe(true);
  });

  test.each([
    ['R:KV-03 overwrite', (s: S) => ['1', '2'].forEach((v) => s.port.keyValues.set('k', v)), '{"k":"2"}'],
    ['R:KV-03 clear one', (s: S) => (s.port.keyValues.set('k', '1'), s.port.keyValues.clear('k')), '{}'],
    [
      'R:KV-05 R:KV-13 clear all, then set',
      (s: S) => (s.port.keyValues.set('a', '1'), s.port.keyValues.clearAll(), s.port.keyValues.set('b', '2')),
      '{"b":"2"}',
    ],
    ['R:KV-22 JSON text and an empty key', (s: S) => s.port.keyValues.set('', '{"a":1}'), '{"":"{\\"a\\":1}"}'],
  ])('%s', (_what, change, output) => {
    const first = runTurn(kvThen(change));
    const id = first.historyDelta.at(-1)?.eventId ?? 0;
    const outcome = runTurn(kvThen(change), { history: first.historyDelta, messages: [message.activityDone(id)] });
    expect(outputOf(outcome)).toBe(output);
  });

  test.each([
    ['R:KV-06 a set against a schedule', started().activity('X'), /^schedule mismatch: action=SetKeyValue/],
    ['R:KV-06 another key', started().kvSet('other', 'v'), /^kv set mismatch: action=SetKeyValue \{ key: "k"/],
    ['R:KV-06 another value', started().kvSet('k', 'other'), /^kv set mismatch/],
    ['R:KV-06 a clear', started().kvCleared('k'), /^kv clear mismatch/],
    ['R:KV-06 a clear-all', started().kvClearedAll(), /^kv clear_all mismatch/],
  ])('%s is nondeterministic', (_what, history, text) => {
    expect(
      failureOf(
        runTurn(
          kvThen((s) => s.port.keyValues.set('k', 'v')),
          { history },
        ),
      ),
    ).toMatch(text);
  });
  test('R:KV-06 another stamp is fine', () => {
    const outcome = runTurn(
      kvThen((s) => s.port.keyValues.set('k', 'v')),
      { history: started().kvSet('k', 'v', 1).activity('A') },
    );
    expect(outcome.historyDelta).toEqual([]);
  });

  test('R:KV-09 R:KV-10 values of earlier executions are there, and the code overrides them', () => {
    const outcome = runTurn(
      kvThen((s) => s.port.keyValues.set('b', 'mine')),
      {
        history: started().kvSet('b', 'mine').activity('A').activityDone(3),
        kvSnapshot: seed({ a: ['old', 1], b: ['old', 1] }),
      },
    );
    expect(JSON.parse(outputOf(outcome))).toEqual({ a: 'old', b: 'mine' });
  });

  test('R:KV-11 R:KV-12 R:KV-14 read-modify-write over turns and executions', () => {
    const code: Script = function* (s) {
      const add = (): void => {
        s.port.keyValues.set('n', String(Number(s.port.keyValues.get('n') ?? '0') + 1));
      };
      add();
      ok(yield* s.activity('A'));
      add();
      ok(yield* s.activity('B'));
      add();
      if (s.info.executionId === 2) return s.port.keyValues.get('n') ?? '';
      s.continueAsNew('1');
      return yield* never;
    };
    const sim = new Simulation({ driver: scripted(code), warm: true, verify: true });
    sim.start();
    sim.turn(message.activityDone(3));
    sim.crash();
    sim.turn(message.activityDone(6));
    sim.continueAsNew();
    sim.turn(message.activityDone(3, '1', 2));
    expect(sim.turn(message.activityDone(6, '1', 2)).result).toEqual({ kind: 'completed', output: '6' });
  });

  test('R:KV-21 it works inside branches', () => {
    const code: Script = function* (s) {
      yield* s.race(
        s.block(function* () {
          const outcome = yield* s.activity('A');
          s.port.keyValues.set('won', outcome.text);
          return outcome;
        }),
        s.timer(),
      );
      return s.port.keyValues.get('won') ?? '';
    };
    const history = started().activity('A').timer();
    expect(outputOf(runTurn(code, { history, messages: [message.activityDone(2, 'yes')] }))).toBe('yes');
  });

  test('D-24 R:KV-27 what cannot be stored is replaced at the call, in memory as in history', () => {
    const code: Script = function* (s) {
      s.port.keyValues.set('k\u0000', 'v\ud800');
      s.port.keyValues.clear('x\u0000');
      s.port.customStatus.set('s\u0000');
      const read = s.port.keyValues.get('k\u0000');
      ok(yield* s.activity('A'));
      return `${read}${s.port.customStatus.get()}`;
    };
    const first = runTurn(code);
    expect(written(first)).toMatchObject([
      { key: 'k\uFFFD', value: 'v\uFFFD' },
      { key: 'x\uFFFD' },
      { status: 's\uFFFD' },
      {},
    ]);
    const stored = first.historyDelta.map((event) => decodeEvent(encodeEvent(event)));
    const outcome = runTurn(code, { history: stored, messages: [message.activityDone(5)] });
    expect(outputOf(outcome)).toBe('v\uFFFDs\uFFFD');
  });

  describe('prune', () => {
    const NOW = T0 + 100_000;
    const prunes =
      (cutoffMs: number, before: (s: S) => void = () => undefined): Script =>
      (s) =>
        (function* () {
          before(s);
          const count = s.port.keyValues.pruneUpdatedBefore(cutoffMs);
          ok(yield* s.activity('A'));
          return `${count}:${[...s.port.keyValues.entries().keys()].join()}`;
        })();
    const old = seed({ a: ['1', T0], b: ['1', T0 + 10], c: ['1', T0 + 20] });

    test.each([
      ['R:KV-24 old keys go, recent ones stay', T0 + 20, ['a', 'b']],
      ['R:KV-24 cutoff 0', 0, []],
      ['R:KV-24 the largest cutoff', Number.MAX_SAFE_INTEGER, ['a', 'b', 'c']],
      ['NaN', Number.NaN, []],
      ['negative', -1, []],
    ])('%s', (_what, cutoff, cleared) => {
      const outcome = runTurn(prunes(cutoff), { kvSnapshot: old, nowMs: NOW });
      expect(written(outcome).slice(0, -1)).toEqual(cleared.map((key) => ({ kind: 'KeyValueCleared', key })));
    });

    test('R:KV-24 a key of this turn goes only for a cutoff in the future', () => {
      const at = (cutoff: number) =>
        kinds(
          runTurn(
            prunes(cutoff, (s) => s.port.keyValues.set('new', '1')),
            { nowMs: NOW },
          ),
        );
      expect(at(NOW)).toEqual(['KeyValueSet', 'ActivityScheduled']);
      expect(at(NOW + 1)).toEqual(['KeyValueSet', 'KeyValueCleared', 'ActivityScheduled']);
    });

    test.each([
      ['D-11 R:T-08 keys of the same execution', NOW + 1, (s: S) => s.port.keyValues.set('own', '1'), 4],
      ['D-11 several keys in one call', NOW + 1, () => undefined, 3],
      ['explicit clears before and after', T0 + 15, (s: S) => s.port.keyValues.clear('zz'), 2],
    ])('%s: the replay clears what the live call cleared', (_what, cutoff, before, count) => {
      const code: Script = function* (s) {
        before(s);
        const cleared = s.port.keyValues.pruneUpdatedBefore(cutoff);
        s.port.keyValues.clear('c');
        ok(yield* s.activity('A'));
        return `${cleared}:${s.port.keyValues.size}`;
      };
      const first = runTurn(code, { kvSnapshot: old, nowMs: NOW });
      const stored = first.historyDelta.map((event) => decodeEvent(encodeEvent(event)));
      const later = { history: stored, kvSnapshot: old, nowMs: NOW + 5_000_000 };
      expect(runTurn(code, later).historyDelta).toEqual([]);
      const id = stored.at(-1)?.eventId ?? 0;
      expect(outputOf(runTurn(code, { ...later, messages: [message.activityDone(id)] }))).toBe(`${count}:0`);
    });

    test('a prune that cleared nothing then clears nothing on replay, though the key is old by now', () => {
      const code = prunes(NOW + 50, (s) => s.port.keyValues.set('own', '1'));
      const first = runTurn(code, { nowMs: NOW + 60 }); // later than the cutoff: nothing to clear
      expect(kinds(first)).toEqual(['KeyValueSet', 'ActivityScheduled']);
      const again = runTurn(code, { history: first.historyDelta, nowMs: NOW });
      expect(again.historyDelta).toEqual([]);
    });

    test('native’s history of two keys pruned in its own order replays', () => {
      const history = started().kvCleared('b').kvCleared('a').activity('A');
      const outcome = runTurn(prunes(T0 + 15), { history, kvSnapshot: old, messages: [message.activityDone(4)] });
      expect(outputOf(outcome)).toBe('2:c');
    });

    test('a turn that prunes a key of its own execution is not kept warm', () => {
      const code = prunes(NOW + 1, (s) => s.port.keyValues.set('own', '1'));
      expect(runTurn(code, { nowMs: NOW }).keepWarm).toBe(false);
      expect(runTurn(prunes(T0 + 20), { nowMs: NOW, kvSnapshot: old }).keepWarm).toBe(true);
    });
  });
});

import { describe, expect, test } from '@jest/globals';
import type { GeneratorOrchestration } from '../../src/runtime/generator/generator-driver.js';
import { replay } from '../../src/testing/replay/replay.js';
import { ReplayMismatchError } from '../../src/testing/replay/replay-mismatch-error.js';
import { activity, orchestration } from '../../src/typed/definitions.js';
import { loadRecordedScenarios, type RecordedHistory } from '../oracle/fixture.js';
import { type Registration, scenarios } from '../oracle/scenarios/index.js';
import { HistoryBuilder, orchestrationError } from '../support/history-builder.js';

const greet = activity('Greet', (_ctx, name: string) => `Hello, ${name}`);

/** A history of: greet, then wait an hour. */
function greeted(): HistoryBuilder {
  return new HistoryBuilder().started().activity('Greet', '"Ada"').activityDone(2, '"Hello, Ada"').timer();
}
const greetedHistory = () => greeted().events;
/** The same, fired and returned. */
const endedHistory = () => greeted().timerFired(4).completed('"Hello, Ada"').events;

type Context = Parameters<GeneratorOrchestration>[0];
type Code = Generator<unknown, string | void, string>;

/** The three styles in which one can write an orchestration, with the same decisions. */
const styles = {
  'a generator of the drop-in API': (name: string) =>
    function* (ctx: Context): Code {
      const greeting = yield ctx.scheduleActivity('Greet', name);
      yield ctx.scheduleTimer(3_600_000);
      return greeting;
    },
  'an async function': (name: string) =>
    orchestration('Orch', async (ctx) => {
      const greeting = await ctx.call(greet, name);
      await ctx.sleep(3_600_000);
      return greeting;
    }),
  'a typed generator': (name: string) =>
    orchestration('Orch', function* (ctx) {
      const greeting = yield* ctx.call(greet, name);
      yield* ctx.sleep(3_600_000);
      return greeting;
    }),
};

async function mismatch(promise: Promise<unknown>): Promise<ReplayMismatchError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ReplayMismatchError);
  return error as ReplayMismatchError;
}

describe.each(Object.entries(styles))('replay of %s', (_style, make) => {
  test('code that decides what is recorded passes, in the middle and at the end', async () => {
    const events = greetedHistory();
    expect(await replay(make('Ada'), events)).toEqual({ orchestration: 'Orch', events: 4, state: 'running' });
    expect(await replay(make('Ada'), endedHistory())).toMatchObject({ state: 'completed' });
  });

  test('another input is reported with both decisions and the place', async () => {
    const error = await mismatch(replay(make('Grace'), endedHistory()));
    expect(error).toMatchObject({
      orchestration: 'Orch',
      position: 2,
      expected: `call activity 'Greet' with "Ada"`,
      actual: `call activity 'Greet' with "Grace"`,
    });
    expect(error.message).toBe(
      `orchestration 'Orch' does not repeat its history at event 2\n` +
        `  expected: call activity 'Greet' with "Ada"\n` +
        `  actual:   call activity 'Greet' with "Grace"`,
    );
    expect(error.failure).toContain('schedule mismatch');
  });
});

describe('replay reports C-30', () => {
  const same = function* (ctx: Context): Code {
    const greeting = yield ctx.scheduleActivity('Greet', 'Ada');
    yield ctx.scheduleTimer(1);
    return greeting;
  };

  test('another kind of decision', async () => {
    const error = await mismatch(
      replay(function* (ctx: Context): Code {
        yield ctx.scheduleActivity('Greet', 'Ada');
        yield ctx.waitForEvent('go');
      }, greetedHistory()),
    );
    expect(error).toMatchObject({ position: 4, expected: 'start a timer', actual: "wait for event 'go'" });
  });

  test('a decision less, after which the code waits for nothing that is recorded', async () => {
    const error = await mismatch(
      replay(function* (ctx: Context): Code {
        return yield ctx.scheduleActivity('Greet', 'Ada');
      }, greetedHistory()),
    );
    expect(error).toMatchObject({ position: 4, expected: 'start a timer', actual: 'return "Hello, Ada"' });
  });

  test('a decision less that no runtime would notice: the code ends early with the same output', async () => {
    const error = await mismatch(
      replay(function* (ctx: Context): Code {
        return yield ctx.scheduleActivity('Greet', 'Ada');
      }, endedHistory()),
    );
    expect(error).toMatchObject({ position: 4, expected: 'start a timer', failure: undefined });
  });

  test('a decision more, and lets it pass when the history was cut by hand', async () => {
    const longer = function* (ctx: Context): Code {
      yield ctx.scheduleActivity('Greet', 'Ada');
      yield ctx.all([ctx.scheduleTimer(1), ctx.scheduleActivity('Greet', 'Bob')]);
    };
    const error = await mismatch(replay(longer, greetedHistory()));
    expect(error).toMatchObject({
      position: 5,
      expected: 'nothing more',
      actual: `call activity 'Greet' with "Bob"`,
    });
    expect(await replay(longer, greetedHistory(), { allowNewDecisions: true })).toMatchObject({ state: 'running' });
    const atEnd = await mismatch(replay(longer, endedHistory(), { allowNewDecisions: true }));
    expect(atEnd).toMatchObject({ expected: 'return "Hello, Ada"', actual: `call activity 'Greet' with "Bob"` });
  });

  test('another output, another failure, and an end that did not happen', async () => {
    const other = await mismatch(replay(same, greeted().timerFired(4).completed('"Bye"').events));
    expect(other).toMatchObject({ position: 6, expected: 'return "Bye"', actual: 'return "Hello, Ada"' });
    const failed = greeted()
      .timerFired(4)
      .add({ kind: 'OrchestrationFailed', details: orchestrationError('Error: no\n    at old.js:1:1') }).events;
    expect(await mismatch(replay(same, failed))).toMatchObject({ expected: 'fail: Error: no' });
    const failing = function* (ctx: Context): Code {
      yield* same(ctx);
      throw new Error('no');
    };
    expect(await replay(failing, failed)).toMatchObject({ state: 'failed' });
    const running = greeted().timerFired(4).events;
    expect(await mismatch(replay(same, running))).toMatchObject({
      position: 6,
      expected: 'nothing more',
      actual: 'return "Hello, Ada"',
    });
  });

  test('a cancelled instance is no mismatch, nor is one that the system gave up', async () => {
    const cancelled = greeted()
      .add({ kind: 'OrchestrationCancelRequested', reason: 'stop' })
      .add({
        kind: 'OrchestrationFailed',
        details: {
          kind: 'Application',
          application: { kind: 'Cancelled', reason: 'stop' },
          message: '',
          retryable: false,
        },
      }).events;
    expect(await replay(same, cancelled)).toMatchObject({ state: 'cancelled' });
    const poisoned = greeted().add({
      kind: 'OrchestrationFailed',
      details: { kind: 'Infrastructure', operation: 'op', message: 'down', retryable: false },
    }).events;
    expect(await replay(same, poisoned)).toMatchObject({ state: 'running' });
  });
});

describe('replay refuses', () => {
  test.each([
    ['a text that is no JSON', '{', /JSON text of a recorded history/],
    ['a history without events', { instance: 'i', executionId: 1, events: [] }, /expected a recorded history/],
    ['an element that is no event', { instance: 'i', executionId: 1, events: [{ type: 'Nope' }] }, /element 0/],
  ])('%s', async (_what, history, message) => {
    await expect(replay(styles['an async function']('Ada'), history as string)).rejects.toThrow(message);
  });

  test('an activity in place of an orchestration', async () => {
    await expect(replay(greet, greetedHistory())).rejects.toThrow("got activity 'Greet'");
  });

  test('code that awaits something that is not durable, with its place', async () => {
    const foreign = orchestration('Orch', async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
    });
    await expect(replay(foreign, greetedHistory())).rejects.toMatchObject({ name: 'ForeignAwaitError' });
  });
});

describe('histories recorded by native', () => {
  const recordings = loadRecordedScenarios().flatMap((recording) => {
    const scenario = scenarios.find(({ name }) => name === recording.scenario);
    return scenario && scenario.nativeOnly === undefined ? [{ recording, scenario }] : [];
  });
  /** Programs that change their mind, and histories that a scenario damages. */
  const unfit = new Set(['nondeterminism', 'poison-history']);

  test.each(recordings.filter(({ scenario }) => !unfit.has(scenario.name)))(
    '$scenario.name: every execution that has a history passes',
    async ({ recording, scenario }) => {
      const registrations = scenario.orchestrations();
      for (const history of recording.histories) {
        // A start that nobody took has no code to replay.
        if (!history.events[0] || /"version":"unknown"/.test(history.events[0])) continue;
        const { instance, executionId } = history;
        const first = recording.turns.find((turn) => turn.instance === instance && turn.executionId === executionId);
        const values = Object.fromEntries(
          (first?.kvSnapshot ?? []).map(([key, value, lastUpdatedAtMs]) => [key, { value, lastUpdatedAtMs }]),
        );
        await replay(codeFor(registrations, history), { ...history, values });
      }
    },
  );

  function codeFor(registrations: readonly Registration[], { events }: RecordedHistory): GeneratorOrchestration {
    const { name, version } = JSON.parse(events[0] ?? '{}') as { name: string; version: string };
    const found =
      registrations.find((each) => each.name === name && (each.version ?? '1.0.0') === version) ??
      registrations.find((each) => each.name === name);
    if (!found) throw new Error(`no code for ${name}@${version}`);
    return found.fn;
  }
});

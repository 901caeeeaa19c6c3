import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Registrable } from '../../src/index.js';
import { comparableTurn } from '../oracle/comparable-turn.js';
import { historyAtFetch, loadRecordedScenarios, type RecordedScenario } from '../oracle/fixture.js';
import { decidedByNative, type DecidedTurn, ourTurn } from '../oracle/our-turn.js';
import { scenarios } from '../oracle/scenarios/index.js';
import type { RecordedTurn } from '../oracle/turn-recorder.js';
import { asyncEquivalents, withoutEquivalent } from './equivalents.js';
import { stepEquivalents } from './step-equivalents.js';

beforeAll(() => {
  // The recordings were made without stacks in failure texts.
  Error.stackTraceLimit = 0;
});

const recordings = loadRecordedScenarios();

test('each recorded scenario has an async form, or a reason', () => {
  expect(Object.keys(asyncEquivalents).sort()).toEqual(
    recordings
      .map(({ scenario }) => scenario)
      .filter((name) => scenarios.find((scenario) => scenario.name === name)?.nativeOnly === undefined)
      .sort(),
  );
});

describe.each([
  ['async functions', asyncEquivalents],
  ['typed generators', stepEquivalents],
])('R:3.0 rule 2: histories of generators, replayed by %s', (_style, equivalents) => {
  for (const [recording, definitions] of withForm(equivalents)) {
    test(recording.scenario, async () => {
      for (const [n, turn] of turnsOf(recording)) {
        const ours = plain(await ourTurn(definitions, turn, historyAtFetch(recording, turn)));
        const at = { turn: n, instance: turn.instance };
        expect({ ...at, ...(comparableTurn(ours) as object) }).toEqual({
          ...at,
          ...(comparableTurn(decidedByNative(turn)) as object),
        });
      }
    });
  }
});

describe.each([
  ['async functions', asyncEquivalents],
  ['typed generators', stepEquivalents],
])('R:3.0 rule 2: histories of %s, replayed by generators', (_style, equivalents) => {
  for (const [recording, definitions] of withForm(equivalents)) {
    const scenario = scenarios.find(({ name }) => name === recording.scenario);
    if (!scenario || recording.scenario === 'poison-history') continue;
    test(recording.scenario, async () => {
      const generators = scenario.orchestrations();
      const written = new Map<string, string[]>();
      for (const [n, turn] of turnsOf(recording)) {
        const history = writtenBefore(written, turn);
        const byAsync = await ourTurn(definitions, turn, history);
        const byGenerator = await ourTurn(generators, turn, history);
        expect({ turn: n, ...byGenerator }).toEqual({ turn: n, ...plain(byAsync) });
        expect(byAsync.status).toBe(decidedByNative(turn).status);
        const key = `${turn.instance} ${turn.executionId}`;
        written.set(key, [...(written.get(key) ?? []), ...byAsync.events]);
      }
    });
  }
});

type Equivalents = Readonly<Record<string, readonly Registrable[] | string>>;

function withForm(equivalents: Equivalents): [RecordedScenario, readonly Registrable[]][] {
  return recordings.flatMap((recording) => {
    const definitions = equivalents[recording.scenario];
    return definitions === undefined || typeof definitions === 'string' ? [] : [[recording, definitions] as const];
  });
}

/** A turn without the data that typed code keeps of an error beside its text; native writes none. */
function plain({ events, orchestratorItems, ...turn }: DecidedTurn): DecidedTurn {
  const withoutData = (json: string) =>
    JSON.stringify(JSON.parse(json), (key, value: unknown) => (key === 'failure' ? undefined : value));
  return {
    ...turn,
    events: events.map(withoutData),
    orchestratorItems: orchestratorItems.map((item) => JSON.parse(withoutData(JSON.stringify(item))) as unknown),
  };
}

/** The turns of the instances whose code has another form. */
function turnsOf(recording: RecordedScenario): [number, RecordedTurn][] {
  const excluded = new Set(
    recording.histories
      .filter(({ events }) => {
        const { name } = JSON.parse(events[0] ?? '{}') as { name?: string };
        return name !== undefined && withoutEquivalent.has(name);
      })
      .map(({ instance }) => instance),
  );
  return [...recording.turns.entries()].filter(([, { instance }]) => !excluded.has(instance));
}

/** What a fetch would load: the turn's execution, or, where it begins, the one before. */
function writtenBefore(written: ReadonlyMap<string, string[]>, { instance, executionId }: RecordedTurn): string[] {
  return written.get(`${instance} ${executionId}`) ?? written.get(`${instance} ${executionId - 1}`) ?? [];
}

import { beforeAll, describe, expect, test } from '@jest/globals';
import { comparableTurn } from '../oracle/comparable-turn.js';
import { historyAtFetch, loadRecordedScenarios } from '../oracle/fixture.js';
import { decidedByNative, ourTurn } from '../oracle/our-turn.js';
import { type Registration, scenarios } from '../oracle/scenarios/index.js';

/**
 * Every turn that native ever took in the recorded scenarios, taken by us: the same
 * history and the same messages have to give the same events, items and status, also
 * where no code runs: late messages, unknown instances, poison.
 */
describe('recorded turns of native, planned and decided by our runtime', () => {
  beforeAll(() => {
    // The recordings were made without stacks in failure texts.
    Error.stackTraceLimit = 0;
  });

  for (const recording of loadRecordedScenarios()) {
    const scenario = scenarios.find(({ name }) => name === recording.scenario);
    if (!scenario) throw new Error(`a recording without its scenario: ${recording.scenario}`);
    if (scenario.nativeOnly !== undefined) {
      test.skip(`${scenario.name}: ${scenario.nativeOnly}`, () => undefined);
      continue;
    }
    test(`${scenario.name}: ${scenario.about}`, async () => {
      const registrations = scenario.orchestrations();
      for (const [n, turn] of recording.turns.entries()) {
        if (changesItsMind(registrations) && historyAtFetch(recording, turn).length > 0) registrations.forEach(change);
        const ours = await ourTurn(registrations, turn, historyAtFetch(recording, turn));
        const native = decidedByNative(turn);
        const at = { turn: n, instance: turn.instance };
        expect({ ...at, ...(comparableTurn(ours) as object) }).toEqual({
          ...at,
          ...(comparableTurn(native) as object),
        });
        expect(ours.removedActivities).toEqual(expect.arrayContaining([...native.removedActivities]));
      }
    });
  }
});

type Changing = Registration & { change(): void };

function changesItsMind(registrations: readonly Registration[]): registrations is readonly Changing[] {
  return registrations.every((registration) => 'change' in registration);
}

function change(registration: Changing): void {
  registration.change();
}

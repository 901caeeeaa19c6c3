import { describe, expect, test } from '@jest/globals';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import { encodeWorkItem, workItemFromJson } from '../../src/wire/work-item.js';
import { recordedRows } from './filled-schema.js';
import { loadRecordedScenarios } from './fixture.js';
import { scenarios } from './scenarios/index.js';

const recordings = loadRecordedScenarios();

describe('recorded histories of native', () => {
  test('there is one for each scenario', () => {
    const expected = scenarios.filter((scenario) => scenario.recorded !== false).map((scenario) => scenario.name);
    expect(recordings.map((recording) => recording.scenario).sort()).toEqual(expected.sort());
  });

  test.each(recordings.map((recording) => [recording.scenario, recording] as const))(
    '%s: its texts survive decoding and encoding byte for byte, its items as JSON',
    (name, recording) => {
      const damaged = name === 'poison-history';
      for (const turn of recording.turns) {
        for (const text of turn.events) expect(encodeEvent(decodeEvent(text))).toBe(text);
        const items = [...turn.messages, ...[...turn.workerItems, ...turn.orchestratorItems].map(({ item }) => item)];
        for (const item of items) expect(JSON.parse(encodeWorkItem(workItemFromJson(item)))).toEqual(item);
      }
      for (const history of recording.histories) {
        const written = recording.turns.filter(
          (turn) => turn.instance === history.instance && turn.executionId === history.executionId,
        );
        if (!damaged) expect(written.flatMap((turn) => turn.events)).toEqual(history.events);
      }
    },
  );

  test('the filled schema holds every kind of work item', () => {
    const { orchestrator_queue, worker_queue } = recordedRows();
    const kinds = [...orchestrator_queue, ...worker_queue].map((row) =>
      Object.keys(JSON.parse(String(row['work_item'])) as object).join(),
    );
    expect([...new Set(kinds)].sort()).toEqual([
      'ActivityCompleted',
      'ActivityExecute',
      'ActivityFailed',
      'CancelInstance',
      'ContinueAsNew',
      'ExternalRaised',
      'QueueMessage',
      'StartOrchestration',
      'SubOrchCompleted',
      'TimerFired',
    ]);
  });
});

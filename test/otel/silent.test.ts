import { describe, expect, test } from '@jest/globals';
import { activityItem } from '../../src/conformance/records.js';
import { ackOf } from '../../src/conformance/trial.js';
import { openTelemetry } from '../../src/otel/index.js';
import type { TurnFacts } from '../../src/provider/telemetry.js';

const facts: TurnFacts = {
  instance: 'x',
  executionId: 1,
  orchestration: 'Orch',
  version: '1.0.0',
  isWarm: false,
  attempt: 1,
  messages: 1,
  lockToken: 'lock',
  trace: undefined,
};
const ack = ackOf({ instance: 'x', lockToken: 'lock' }, { workerItems: [activityItem('x', 2)] });
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('without an SDK', () => {
  test('messages stay as they are, and code runs as it would', async () => {
    const telemetry = openTelemetry();
    const turn = telemetry.turn(facts);
    expect(turn.run(() => 'decided')).toBe('decided');
    expect(turn.stamp(ack)).toBe(ack);
    turn.end('completed');
    const sent: unknown[] = [];
    const item = activityItem('x', 3);
    await telemetry.clientCall(item, async (stamped) => void sent.push(stamped));
    expect(sent).toEqual([item]);
    const ends: unknown[] = [];
    const run = { activity: 'A', orchestration: 'Orch', instance: 'x', executionId: 1, workerId: 'w', attempt: 1 };
    const endOf = (result: string) => (ends.push(result), 'completed' as const);
    expect(telemetry.activity({ ...run, trace: undefined }, () => 'now', endOf)).toBe('now');
    expect(await telemetry.activity({ ...run, trace: undefined }, () => Promise.resolve('later'), endOf)).toBe('later');
    expect(ends).toEqual(['now', 'later']);
  });

  test("another process's trace goes on through this one", () => {
    const turn = openTelemetry().turn({ ...facts, trace: TRACE });
    const [stamped] = turn.stamp(ack).workerItems;
    expect(stamped).toMatchObject({ kind: 'ActivityExecute', trace: TRACE });
    turn.end('continued');
  });
});

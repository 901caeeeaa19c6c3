import { describe, expect, test } from '@jest/globals';
import { endUnreadable, endWithFailure, poisonedBatch, poisonedHistory } from '../../src/runtime/replay/poison.js';
import {
  needsParentExecution,
  parentOf,
  parentOfHistory,
  readBatch,
  startRecord,
} from '../../src/runtime/replay/batch.js';
import { isReservedInstanceId } from '../../src/runtime/replay/instance-ids.js';
import type { WorkItemOf } from '../../src/wire/work-item.js';
import { message, started, T0 } from '../support/history-builder.js';
import type { Script } from '../support/script.js';
import { never, ok } from '../support/script.js';
import { kinds, outputOf, runTurn } from '../support/turns.js';

const start: WorkItemOf<'StartOrchestration'> = {
  kind: 'StartOrchestration',
  instance: 'inst',
  orchestration: 'Orch',
  input: '"in"',
  version: null,
  parentInstance: null,
  parentId: null,
  executionId: 1,
};
const again: WorkItemOf<'ContinueAsNew'> = {
  kind: 'ContinueAsNew',
  instance: 'inst',
  orchestration: 'Orch',
  input: '2',
  version: '1.0.0',
  carryForwardEvents: [['q', '1']],
  initialCustomStatus: 's',
  parentInstance: 'p',
  parentId: 4,
  parentExecutionId: 2,
};

describe('children and detached instances', () => {
  test('R:SO-05 an explicit version travels in the message, not in history', () => {
    const outcome = runTurn(function* (s) {
      return ok(yield* s.child('C', null, '1', '2.1.0'));
    });
    expect(outcome.orchestratorItems).toMatchObject([{ version: '2.1.0' }]);
    expect(JSON.stringify(outcome.historyDelta.at(-1))).not.toContain('2.1.0');
  });

  test('R:SO-08 R:SO-09 a detached start has no parent and keeps its id', () => {
    const outcome = runTurn(function* (s) {
      s.detached('D', 'my/id', '"d"', '3.0.0');
      return ok(yield* s.timer());
    });
    expect(outcome.orchestratorItems[0]).toEqual({
      ...start,
      instance: 'my/id',
      orchestration: 'D',
      input: '"d"',
      version: '3.0.0',
    });
  });

  const detachedThen =
    (end: 'return' | 'continue' | 'wait'): Script =>
    (s) =>
      (function* () {
        s.detached('D', 'd');
        if (end === 'wait') return ok(yield* s.timer());
        if (end === 'continue') {
          s.continueAsNew('1');
          return yield* never;
        }
        yield* s.all([]);
        return '"x"';
      })();

  test.each([
    ['R:SO-10 waits', 'wait', []],
    ['completes', 'return', []],
    ['D-06 R:T-05 C-32 continues as new', 'continue', []],
    ['D-06 R:T-05 is cancelled', 'wait', [message.cancel()]],
  ] as const)('a detached start of a turn that %s is enqueued', (_what, end, messages) => {
    const outcome = runTurn(detachedThen(end), { messages });
    expect(outcome.orchestratorItems).toContainEqual({ ...start, instance: 'd', orchestration: 'D', input: '1' });
  });

  test.each(['sub::1', 'a::sub::b', 'sub::', 'x::y::sub::3'])('a detached id %j panics the turn', (instance) => {
    const outcome = runTurn(function* (s) {
      s.detached('D', instance);
      return ok(yield* s.timer());
    });
    expect(outcome.metadata.output).toBe(
      `orchestration panicked: detached orchestration instance id '${instance}' uses the reserved sub-orchestration marker 'sub::'; root instance ids must not start with it or contain '::sub::'`,
    );
    expect(kinds(outcome)).toEqual(['OrchestrationFailed']);
  });

  test.each(['xsub::y', 'Sub::1', ' sub::1', 'asub::1::x', 'a:sub::1', 'a::sub:x', 'z::subs::1'])(
    'O-1 %j is no reserved id',
    (instance) => {
      expect(isReservedInstanceId(instance)).toBe(false);
    },
  );

  test('R:SO-02 R:SO-03 results of children, in their order', () => {
    const code: Script = function* (s) {
      const both = (yield* s.all([s.child('A'), s.child('B')])).map(ok).join();
      return ok(yield* s.child('C', null, both));
    };
    const history = started().child('A').child('B').childDone(3, 'b').childDone(2, 'a').child('C', 'sub::6', 'a,b');
    expect(outputOf(runTurn(code, { history, messages: [message.childDone(6, 'c')] }))).toBe('c');
  });
});

describe('reading a batch', () => {
  test('carried messages stand before the others, worker items are left out', () => {
    const batch = readBatch([
      message.queued('q', '2'),
      again,
      { kind: 'ActivityExecute', instance: 'inst', executionId: 1, id: 2, name: 'A', input: '' },
      message.raised('e'),
    ]);
    expect(batch.start).toBe(again);
    expect(batch.messages).toEqual([
      { kind: 'QueueMessage', instance: 'inst', name: 'q', data: '1' },
      message.queued('q', '2'),
      message.raised('e'),
    ]);
  });

  test('a continue-as-new item is preferred over any start; the others are told apart', () => {
    const second = { ...start, input: '"second"' };
    expect(readBatch([start, second])).toMatchObject({ start, otherStarts: [second] });
    expect(readBatch([start, again, second])).toMatchObject({ start: again, otherStarts: [start, second] });
    expect(readBatch([message.raised('e')]).start).toBeUndefined();
  });

  test('start records of both kinds of items', () => {
    expect(startRecord(start, '1.2.3')).toEqual({ name: 'Orch', version: '1.2.3', input: '"in"', parent: undefined });
    expect(startRecord(again, '1.0.0')).toEqual({
      name: 'Orch',
      version: '1.0.0',
      input: '2',
      parent: { instance: 'p', id: 4, executionId: 2 },
      carryForwardEvents: [['q', '1']],
      initialCustomStatus: 's',
    });
    expect(startRecord({ ...again, carryForwardEvents: [] }, '1.0.0').carryForwardEvents).toBeUndefined();
  });

  test('R:SO-11 the parent, and whether its execution has to be looked up', () => {
    expect(parentOf(start)).toBeUndefined();
    expect(needsParentExecution(parentOf(again))).toBe(false);
    const old = parentOf({ ...start, parentInstance: 'p', parentId: 0 });
    expect(old).toEqual({ instance: 'p', id: 0, executionId: undefined });
    expect(needsParentExecution(old)).toBe(true);
    expect(parentOfHistory(started({ parentInstance: 'p', parentId: 9 }).events)).toMatchObject({ id: 9 });
    expect(parentOfHistory(started().events)).toBeUndefined();
    expect(needsParentExecution(undefined)).toBe(false);
  });
});

describe('ends without running code', () => {
  const details = poisonedBatch({
    instance: 'inst',
    executionId: 1,
    attemptCount: 11,
    maxAttempts: 10,
    messages: [start, message.raised('e', '1')],
  });
  const now = (): number => T0;

  test('R:PO-03 poison keeps the batch as JSON', () => {
    expect(details).toMatchObject({ kind: 'Poison', messageType: { kind: 'Orchestration', executionId: 1 } });
    expect(JSON.parse(details.message ?? '')).toMatchObject([{ StartOrchestration: {} }, { ExternalRaised: {} }]);
  });

  test('R:PO-03 an instance that never ran gets its start and the failure', () => {
    const outcome = endWithFailure({
      instance: 'inst',
      executionId: 1,
      history: [],
      start: { name: 'Orch', version: 'unknown', input: '"in"', parent: { instance: 'p', id: 3 } },
      details,
      now,
      parentExecutionId: 5,
    });
    expect(outcome.historyDelta).toMatchObject([
      { eventId: 1, kind: 'OrchestrationStarted', version: 'unknown' },
      { eventId: 2, kind: 'OrchestrationFailed', details },
    ]);
    expect(outcome.metadata).toEqual({
      orchestrationName: 'Orch',
      orchestrationVersion: 'unknown',
      parentInstanceId: 'p',
      pinnedDuroxideVersion: { major: 0, minor: 1, patch: 30 },
      status: 'Failed',
      output: 'poison: orchestration inst exceeded 11 attempts (max 10)',
    });
    expect(outcome.orchestratorItems).toEqual([
      { kind: 'SubOrchFailed', parentInstance: 'p', parentExecutionId: 5, parentId: 3, details },
    ]);
  });

  test.each([
    [
      'R:PO-03 R:SO-13 a running instance',
      started({ parentInstance: 'p', parentId: 3, parentExecutionId: 2 }).activity('A'),
      3,
    ],
    ['R:PO-03 an execution that has continued as new', started().continuedAsNew(), 3],
  ])('%s gets the failure at the next id', (_what, history, eventId) => {
    const outcome = endWithFailure({ instance: 'inst', executionId: 1, history: history.events, details, now });
    expect(outcome.historyDelta).toMatchObject([{ eventId, kind: 'OrchestrationFailed' }]);
    expect(outcome).toMatchObject({ eventCount: 3, keepWarm: false, workerItems: [] });
  });

  test('R:DH-27 R:DH-28 an unreadable history gets the fixed id, and nobody is told', () => {
    const failure = poisonedHistory({
      instance: 'inst',
      executionId: 2,
      attemptCount: 11,
      maxAttempts: 10,
      error: 'event of an unknown type',
    });
    const outcome = endUnreadable({ instance: 'inst', executionId: 2, details: failure, now });
    expect(outcome.historyDelta).toMatchObject([{ eventId: 99_999, executionId: 2, details: failure }]);
    expect(outcome.orchestratorItems).toEqual([]);
    expect(outcome.metadata.output).toBe(
      'poison: orchestration inst history deserialization failed after 11 attempts (max 10): event of an unknown type',
    );
  });
});

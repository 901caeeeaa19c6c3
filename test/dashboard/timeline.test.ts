import { describe, expect, test } from '@jest/globals';
import { timelineOf } from '../../src/dashboard/model/timeline.js';
import type { LaneView, TimelineView } from '../../src/dashboard/views.js';
import type { EventBody, HistoryEvent } from '../../src/wire/event.js';
import { activityError, orchestrationError } from '../support/history-builder.js';

/** A history out of `[moment, body, source]`, event ids from 1. */
function history(...events: readonly (readonly [number, EventBody, number?])[]): HistoryEvent[] {
  return events.map(([timestampMs, body, source], index) => ({
    eventId: index + 1,
    sourceEventId: source ?? null,
    instanceId: 'i',
    executionId: 1,
    duroxideVersion: '0.1.30',
    timestampMs,
    ...body,
  }));
}

const started: EventBody = {
  kind: 'OrchestrationStarted',
  name: 'O',
  version: '1.0.0',
  input: '1',
  parentInstance: null,
  parentId: null,
};
const activity = (name: string, input = '1'): EventBody => ({ kind: 'ActivityScheduled', name, input });
const completed: EventBody = { kind: 'ActivityCompleted', result: '1' };
const failed: EventBody = { kind: 'ActivityFailed', details: activityError('no') };

/** A lane in short: its label and, per bar, when it was and how it ended. */
function short({ kind, label, segments }: LaneView): string {
  return `${kind} ${label}: ${segments.map((s) => `${s.fromMs}-${s.toMs ?? ''} ${s.outcome}`).join(', ')}`;
}
const lanes = (timeline: TimelineView) => timeline.lanes.map(short);

describe('the time line', () => {
  test('attempts of an activity are bars of one lane; another input is another lane', () => {
    const timeline = timelineOf(
      history(
        [100, started],
        [100, activity('Charge')],
        [110, activity('Charge', '2')],
        [120, failed, 2],
        [121, { kind: 'TimerCreated', fireAtMs: 150 }],
        [150, { kind: 'TimerFired', fireAtMs: 150 }, 5],
        [151, activity('Charge')],
        [160, completed, 3],
        [170, failed, 7],
        [171, activity('Charge')],
      ),
    );
    expect(lanes(timeline)).toEqual([
      'activity Charge: 100-120 failed, 151-170 failed, 171- open',
      'activity Charge: 110-160 ok',
      'timer Timer: 121-150 ok',
    ]);
    expect(timeline).toMatchObject({ fromMs: 100, toMs: null, omitted: 0 });
  });

  test('the same activity called again after a success is no retry', () => {
    const timeline = timelineOf(
      history([1, started], [1, activity('A')], [2, completed, 2], [3, activity('A')], [4, completed, 4]),
    );
    expect(lanes(timeline)).toEqual(['activity A: 1-2 ok', 'activity A: 3-4 ok']);
  });

  test('two that fail side by side are retried side by side', () => {
    const timeline = timelineOf(
      history(
        [1, started],
        [1, activity('A')],
        [1, activity('A')],
        [2, failed, 2],
        [3, failed, 3],
        [4, activity('A')],
        [5, activity('A')],
      ),
    );
    expect(lanes(timeline)).toEqual(['activity A: 1-2 failed, 4- open', 'activity A: 1-3 failed, 5- open']);
  });

  test('events end the wait of their name that began first; a cancelled wait takes none', () => {
    const timeline = timelineOf(
      history(
        [1, started],
        [1, { kind: 'ExternalSubscribed', name: 'go' }],
        [2, { kind: 'ExternalSubscribed', name: 'go' }],
        [3, { kind: 'ExternalSubscribedCancelled', reason: 'dropped_future' }, 2],
        [4, { kind: 'ExternalEvent', name: 'other', data: '1' }],
        [5, { kind: 'ExternalEvent', name: 'go', data: '1' }],
      ),
    );
    expect(lanes(timeline)).toEqual(['event go: 1-3 cancelled', 'event go: 2-5 ok']);
  });

  test('a message that came before its reader ends the wait at once', () => {
    const timeline = timelineOf(
      history(
        [1, started],
        [2, { kind: 'ExternalEventPersistent', name: 'q', data: '1' }],
        [5, { kind: 'ExternalSubscribedPersistent', name: 'q' }],
        [6, { kind: 'ExternalSubscribedPersistent', name: 'q' }],
        [9, { kind: 'ExternalEventPersistent', name: 'q', data: '2' }],
      ),
    );
    expect(lanes(timeline)).toEqual(['queue q: 5-5 ok', 'queue q: 6-9 ok']);
  });

  test('children carry their instance; a detached one is not waited for', () => {
    const timeline = timelineOf(
      history(
        [1, started],
        [1, { kind: 'SubOrchestrationScheduled', name: 'C', instance: 'sub::2', input: '1' }],
        [2, { kind: 'OrchestrationChained', name: 'D', instance: 'free', input: '1' }],
        [8, { kind: 'SubOrchestrationFailed', details: orchestrationError('no') }, 2],
      ),
    );
    expect(lanes(timeline)).toEqual(['child C: 1-8 failed', 'detached D: 2-2 ok']);
    expect(timeline.lanes.map(({ child }) => child)).toEqual(['i::sub::2', 'free']);
  });

  test('what is open at the end was cancelled by it', () => {
    const timeline = timelineOf(
      history(
        [1, started],
        [1, activity('A')],
        [2, { kind: 'TimerCreated', fireAtMs: 99 }],
        [7, { kind: 'OrchestrationCompleted', output: '1' }],
      ),
    );
    expect(lanes(timeline)).toEqual(['activity A: 1-7 cancelled', 'timer Timer: 2-7 cancelled']);
    expect(timeline.toMs).toBe(7);
  });

  test('of very many lanes the latest are shown, and how many are not', () => {
    const events: (readonly [number, EventBody])[] = [[1, started]];
    for (let n = 0; n < 1_000; n++) events.push([n, activity(`A${n}`)]);
    const timeline = timelineOf(history(...events));
    expect(timeline.omitted).toBe(700);
    expect([timeline.lanes[0]?.label, timeline.lanes.at(-1)?.label]).toEqual(['A700', 'A999']);
  });

  test('a history without events has none', () => {
    expect(timelineOf([])).toEqual({ fromMs: 0, toMs: null, lanes: [], omitted: 0 });
  });
});

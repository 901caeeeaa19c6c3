import { describe, expect, test } from '@jest/globals';
import type { ErrorDetails } from '../../src/wire/error-details.js';
import { displayErrorDetails, errorDetailsFromJson, errorDetailsToJson } from '../../src/wire/error-details.js';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import { WireError } from '../../src/wire/wire-error.js';
import { decodeWorkItem, encodeWorkItem, targetInstance } from '../../src/wire/work-item.js';
import { compactItems, displaySamples, eventSamples, jsonbItems } from './samples.js';

const json = (text: string): unknown => JSON.parse(text);

/** The text with changes to the payload of its only key. */
function withBody(text: string, change: (body: Record<string, unknown>) => void): string {
  const item = json(text) as Record<string, Record<string, unknown>>;
  for (const body of Object.values(item)) change(body);
  return JSON.stringify(item);
}

function withFields(text: string, change: (event: Record<string, unknown>) => void): string {
  const event = json(text) as Record<string, unknown>;
  change(event);
  return JSON.stringify(event);
}

const sample = (samples: readonly (readonly [string, string])[], name: string): string => {
  const found = samples.find(([one]) => one === name);
  if (!found) throw new Error(`no sample ${name}`);
  return found[1];
};

describe('events (provider.md 2.4)', () => {
  test('all 26 kinds are sampled', () => {
    expect(new Set(eventSamples.map(([, text]) => decodeEvent(text).kind)).size).toBe(26);
  });

  test.each(eventSamples)('%s comes back byte for byte', (_name, text) => {
    expect(encodeEvent(decodeEvent(text))).toBe(text);
  });

  test('optional fields may be missing, and native writes them as null or not at all', () => {
    const text = withFields(sample(eventSamples, 'OrchestrationStarted of a root'), (event) => {
      delete event['source_event_id'];
      delete event['parent_instance'];
      delete event['parent_id'];
    });
    expect(encodeEvent(decodeEvent(text))).toBe(sample(eventSamples, 'OrchestrationStarted of a root'));
    const bare = withFields(sample(eventSamples, 'CustomStatusUpdated to none'), (event) => delete event['status']);
    expect(decodeEvent(bare)).toMatchObject({ kind: 'CustomStatusUpdated', status: null });
    const unstamped = withFields(sample(eventSamples, 'KeyValueSet'), (event) => delete event['last_updated_at_ms']);
    expect(decodeEvent(unstamped)).toMatchObject({ kind: 'KeyValueSet', lastUpdatedAtMs: 0 });
  });

  test('fields that we do not know are ignored', () => {
    const text = withFields(sample(eventSamples, 'TimerCreated'), (event) => (event['later_addition'] = { a: [1] }));
    expect(encodeEvent(decodeEvent(text))).toBe(sample(eventSamples, 'TimerCreated'));
  });

  test.each(['event_id', 'instance_id', 'execution_id', 'timestamp_ms', 'duroxide_version', 'type', 'result'])(
    'without %s it is rejected',
    (field) => {
      const text = withFields(sample(eventSamples, 'ActivityCompleted'), (event) => delete event[field]);
      expect(() => decodeEvent(text)).toThrow(WireError);
    },
  );

  test.each([1.5, -1, '3', null, 2 ** 53, true])('an event id of %j is rejected', (id) => {
    const text = withFields(sample(eventSamples, 'TimerCreated'), (event) => (event['event_id'] = id));
    expect(() => decodeEvent(text)).toThrow(WireError);
  });

  test('the greatest exact integer is accepted', () => {
    const text = withFields(
      sample(eventSamples, 'TimerCreated'),
      (event) => (event['fire_at_ms'] = Number.MAX_SAFE_INTEGER),
    );
    expect(decodeEvent(text)).toMatchObject({ fireAtMs: Number.MAX_SAFE_INTEGER });
    expect(encodeEvent(decodeEvent(text))).toBe(text);
  });

  test.each([
    ['an unknown type', '{"event_id":1,"type":"Teleported","secret":"payload"}'],
    ['no object', '"payload"'],
    ['an array', '["payload"]'],
    ['no JSON', '{"payload": '],
    ['nothing', ''],
    ['null', 'null'],
  ])('%s is rejected, and the message does not repeat the text', (_name, text) => {
    const rejected = () => decodeEvent(text);
    expect(rejected).toThrow(WireError);
    expect(rejected).not.toThrow(/payload/);
  });
});

describe('work items (provider.md 2.2)', () => {
  test('all 11 kinds are sampled', () => {
    const kinds = [...compactItems, ...jsonbItems].map(([, text]) => decodeWorkItem(text).kind);
    expect(new Set(kinds).size).toBe(11);
  });

  test.each(compactItems)('compact %s comes back byte for byte', (_name, text) => {
    expect(encodeWorkItem(decodeWorkItem(text))).toBe(text);
  });

  test.each(jsonbItems)('%s in the layout of jsonb comes back as equal JSON, compact', (_name, text) => {
    const written = encodeWorkItem(decodeWorkItem(text));
    expect(json(written)).toEqual(json(text));
    expect(written).toBe(JSON.stringify(json(written)));
    expect(decodeWorkItem(written)).toEqual(decodeWorkItem(text));
  });

  test('a start may lack its version, its parent and its execution', () => {
    const text = withBody(sample(compactItems, 'StartOrchestration'), (body) => {
      for (const field of ['version', 'parent_instance', 'parent_id', 'execution_id']) delete body[field];
    });
    expect(encodeWorkItem(decodeWorkItem(text))).toBe(sample(compactItems, 'StartOrchestration'));
  });

  test('a continue-as-new may lack its carried messages', () => {
    const text = withBody(
      sample(jsonbItems, 'ContinueAsNew with a version'),
      (body) => delete body['carry_forward_events'],
    );
    expect(decodeWorkItem(text)).toMatchObject({ kind: 'ContinueAsNew', carryForwardEvents: [] });
  });

  test('fields that we do not know are ignored', () => {
    const text = withBody(sample(compactItems, 'TimerFired'), (body) => (body['later_addition'] = [null]));
    expect(encodeWorkItem(decodeWorkItem(text))).toBe(sample(compactItems, 'TimerFired'));
  });

  test('our trace stands last and survives', () => {
    const item = decodeWorkItem(sample(compactItems, 'ActivityExecute'));
    const text = encodeWorkItem({ ...item, trace: '00-ab-cd-01' } as typeof item);
    expect(text).toMatch(/,"trace":"00-ab-cd-01"\}\}$/);
    expect(decodeWorkItem(text)).toEqual({ ...item, trace: '00-ab-cd-01' });
  });

  test.each([
    ['an unknown kind', '{"ExternalRaised2":{"instance":"x","name":"payload"}}'],
    ['two kinds', '{"CancelInstance":{"instance":"x","reason":"payload"},"QueueMessage":{}}'],
    ['a bare word', '"payload"'],
    ['no body', '{"CancelInstance":"payload"}'],
    ['no JSON', '{"CancelInstance":{"instance":"payload"'],
    [
      'a carried message that is no pair',
      '{"ContinueAsNew":{"instance":"x","orchestration":"o","input":"payload","carry_forward_events":[["a"]]}}',
    ],
    ['a name that is no string', '{"QueueMessage":{"instance":"payload","name":7,"data":"{}"}}'],
  ])('%s is rejected, and the message does not repeat the text', (_name, text) => {
    const rejected = () => decodeWorkItem(text);
    expect(rejected).toThrow(WireError);
    expect(rejected).not.toThrow(/payload/);
  });

  test('results of children go to the parent, everything else to its own instance', () => {
    const targets = compactItems.map(([name, text]) => [name, targetInstance(decodeWorkItem(text))]);
    expect(Object.fromEntries(targets)).toMatchObject({
      SubOrchCompleted: 'parent',
      SubOrchFailed: 'wait',
      StartOrchestration: 'q-start',
      TimerFired: 'race',
    });
  });
});

describe('error details (provider.md 2.3)', () => {
  test.each(displaySamples)('%s', (text, shown) => {
    const details = errorDetailsFromJson(json(text));
    expect(JSON.stringify(errorDetailsToJson(details))).toBe(text);
    expect(displayErrorDetails(details)).toBe(shown);
  });

  test.each([
    '{"Gone":{}}',
    '{"Application":{"kind":"Unheard","message":"m","retryable":false}}',
    '{"Application":{"kind":{"Cancelled":{"reason":"r"},"Other":{}},"message":"m","retryable":false}}',
    '{"Application":{"kind":"Panicked","message":"m"}}',
    '{"Configuration":{"kind":"Other","resource":"","message":null}}',
    '{"Poison":{"attempt_count":1,"max_attempts":1,"message_type":{"Timer":{"instance":"i","execution_id":1}},"message":""}}',
    'null',
  ])('%s is rejected', (text) => {
    expect(() => errorDetailsFromJson(json(text))).toThrow(WireError);
  });
});

describe('text that PostgreSQL could not store (P:T-3)', () => {
  const bad = 'a\u0000b\uD800c';
  const good = 'a\uFFFDb\uFFFDc';

  test('raw strings are made storable before the outer encoding', () => {
    const details: ErrorDetails = {
      kind: 'Application',
      application: { kind: 'ActivityFailed' },
      message: bad,
      retryable: false,
    };
    const text = encodeWorkItem({ kind: 'ActivityFailed', instance: 'x', executionId: 1, id: 2, details });
    expect(text).not.toMatch(/\\u0000|\\ud800/i);
    expect(decodeWorkItem(text)).toMatchObject({ details: { message: good } });
  });

  test('the NUL inside a payload is part of its text and stays', () => {
    const input = JSON.stringify({ s: 'a\u0000b' });
    const text = encodeWorkItem({ kind: 'ActivityExecute', instance: 'x', executionId: 1, id: 2, name: 'A', input });
    expect(text).toContain('a\\\\u0000b');
    expect(decodeWorkItem(text)).toMatchObject({ input });
  });
});

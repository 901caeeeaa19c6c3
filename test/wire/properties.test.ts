import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStorable, toStorable } from '../../src/base/text.js';
import type { ApplicationErrorKind, ErrorDetails, PoisonMessageType } from '../../src/wire/error-details.js';
import { errorDetailsFromJson, errorDetailsToJson } from '../../src/wire/error-details.js';
import type { EventBody, HistoryEvent } from '../../src/wire/event.js';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import { WireError } from '../../src/wire/wire-error.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { decodeWorkItem, encodeWorkItem } from '../../src/wire/work-item.js';

/** Any text that can be stored: what the encoders do not have to change. */
const text = fc.string({ unit: 'binary', maxLength: 40 }).filter(isStorable);
const id = fc.nat();
const moment = fc.maxSafeNat();
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const pairs = fc.array(fc.tuple(text, text), { maxLength: 4 });

/** A record in which the optional fields are there or are not. */
function fields<R extends Record<string, unknown>, O extends Record<string, unknown>>(
  required: { [K in keyof R]: fc.Arbitrary<R[K]> },
  optional: { [K in keyof O]: fc.Arbitrary<O[K]> },
): fc.Arbitrary<R & Partial<O>> {
  const present = fc.record(required);
  const maybe = fc.record(optional, { requiredKeys: [] });
  return fc.tuple(present, maybe).map(([one, two]) => ({ ...one, ...two }) as R & Partial<O>);
}

const application: fc.Arbitrary<ApplicationErrorKind> = fc.oneof(
  fc.constantFrom('ActivityFailed', 'OrchestrationFailed', 'Panicked').map((kind) => ({ kind })),
  text.map((reason) => ({ kind: 'Cancelled' as const, reason })),
);

const poison: fc.Arbitrary<PoisonMessageType> = fc.oneof(
  fc.record({ kind: fc.constant('Orchestration' as const), instance: text, executionId: id }),
  fc.record({
    kind: fc.constant('Activity' as const),
    instance: text,
    executionId: id,
    activityName: text,
    activityId: id,
  }),
  fc.record({ kind: fc.constant('FailedDeserialization' as const), instance: text, executionId: id, error: text }),
);

const details: fc.Arbitrary<ErrorDetails> = fc.oneof(
  fc.record({ kind: fc.constant('Infrastructure' as const), operation: text, message: text, retryable: fc.boolean() }),
  fc.record({
    kind: fc.constant('Configuration' as const),
    configuration: fc.constant('Nondeterminism' as const),
    resource: text,
    message: orNull(text),
  }),
  fc.record({ kind: fc.constant('Application' as const), application, message: text, retryable: fc.boolean() }),
  fc.record({
    kind: fc.constant('Poison' as const),
    attemptCount: id,
    maxAttempts: id,
    messageType: poison,
    message: text,
  }),
);

const kindOf = <K extends string>(kind: K) => ({ kind: fc.constant(kind) });

const body: fc.Arbitrary<EventBody> = fc.oneof(
  fields(
    {
      ...kindOf('OrchestrationStarted'),
      name: text,
      version: text,
      input: text,
      parentInstance: orNull(text),
      parentId: orNull(id),
    },
    { parentExecutionId: id, carryForwardEvents: pairs, initialCustomStatus: text },
  ),
  fc.record({ ...kindOf('OrchestrationCompleted'), output: text }),
  fc.record({ kind: fc.constantFrom('OrchestrationFailed', 'ActivityFailed', 'SubOrchestrationFailed'), details }),
  fc.record({ ...kindOf('OrchestrationContinuedAsNew'), input: text }),
  fc.record({
    kind: fc.constantFrom(
      'OrchestrationCancelRequested',
      'ActivityCancelRequested',
      'ExternalSubscribedCancelled',
      'ExternalSubscribedPersistentCancelled',
      'SubOrchestrationCancelRequested',
    ),
    reason: text,
  }),
  fc.record({
    kind: fc.constantFrom('OrchestrationChained', 'SubOrchestrationScheduled'),
    name: text,
    instance: text,
    input: text,
  }),
  fields({ ...kindOf('ActivityScheduled'), name: text, input: text }, { sessionId: text, tag: text }),
  fc.record({ kind: fc.constantFrom('ActivityCompleted', 'SubOrchestrationCompleted'), result: text }),
  fc.record({ kind: fc.constantFrom('TimerCreated', 'TimerFired'), fireAtMs: moment }),
  fc.record({ kind: fc.constantFrom('ExternalSubscribed', 'ExternalSubscribedPersistent'), name: text }),
  fc.record({ kind: fc.constantFrom('ExternalEvent', 'ExternalEventPersistent'), name: text, data: text }),
  fc.record({ ...kindOf('CustomStatusUpdated'), status: orNull(text) }),
  fc.record({ ...kindOf('KeyValueSet'), key: text, value: text, lastUpdatedAtMs: moment }),
  fc.record({ ...kindOf('KeyValueCleared'), key: text }),
  fc.record(kindOf('KeyValuesCleared')),
);

const event: fc.Arbitrary<HistoryEvent> = fc
  .tuple(
    fc.record({
      eventId: id,
      sourceEventId: orNull(id),
      instanceId: text,
      executionId: id,
      timestampMs: moment,
      duroxideVersion: fc.constantFrom('0.1.30', '99.12.0'),
    }),
    body,
  )
  .map(([envelope, rest]) => ({ ...envelope, ...rest }));

const activity = { instance: text, executionId: id, id };
const parent = { parentInstance: text, parentId: id };

const item: fc.Arbitrary<WorkItem> = fc.oneof(
  fields(
    {
      ...kindOf('StartOrchestration'),
      instance: text,
      orchestration: text,
      input: text,
      version: orNull(text),
      parentInstance: orNull(text),
      parentId: orNull(id),
      executionId: id,
    },
    { parentExecutionId: id, trace: fc.constant('00-ab-cd-01') },
  ),
  fields(
    { ...kindOf('ActivityExecute'), ...activity, name: text, input: text },
    { sessionId: text, tag: text, trace: fc.constant('00-ab-cd-01') },
  ),
  fc.record({ ...kindOf('ActivityCompleted'), ...activity, result: text }),
  fc.record({ ...kindOf('ActivityFailed'), ...activity, details }),
  fc.record({ ...kindOf('TimerFired'), ...activity, fireAtMs: moment }),
  fc.record({ kind: fc.constantFrom('ExternalRaised', 'QueueMessage'), instance: text, name: text, data: text }),
  fc.record({ ...kindOf('CancelInstance'), instance: text, reason: text }),
  fields({ ...kindOf('SubOrchCompleted'), ...parent, result: text }, { parentExecutionId: id }),
  fields({ ...kindOf('SubOrchFailed'), ...parent, details }, { parentExecutionId: id }),
  fields(
    {
      ...kindOf('ContinueAsNew'),
      instance: text,
      orchestration: text,
      input: text,
      version: orNull(text),
      carryForwardEvents: pairs,
    },
    { initialCustomStatus: text, parentInstance: text, parentId: id, parentExecutionId: id },
  ),
);

/** The same JSON with other white space and the keys of `jsonb`: by length, then bytewise. */
function asJsonb(stored: string): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== 'object' || value === null) return value;
    const keys = Object.keys(value).sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
    return Object.fromEntries(keys.map((key) => [key, sorted((value as Record<string, unknown>)[key])]));
  };
  return JSON.stringify(sorted(JSON.parse(stored)), null, 1);
}

describe('codecs, for any content', () => {
  test('an event that was written is read back unchanged, in either layout', () => {
    fc.assert(
      fc.property(event, (one) => {
        const stored = encodeEvent(one);
        expect(decodeEvent(stored)).toEqual(one);
        expect(encodeEvent(decodeEvent(asJsonb(stored)))).toBe(stored);
      }),
    );
  });

  test('a work item that was written is read back unchanged, in either layout', () => {
    fc.assert(
      fc.property(item, (one) => {
        const stored = encodeWorkItem(one);
        expect(decodeWorkItem(stored)).toEqual(one);
        expect(encodeWorkItem(decodeWorkItem(asJsonb(stored)))).toBe(stored);
      }),
    );
  });

  test('error details that were written are read back unchanged', () => {
    fc.assert(
      fc.property(details, (one) => {
        expect(errorDetailsFromJson(JSON.parse(JSON.stringify(errorDetailsToJson(one))))).toEqual(one);
      }),
    );
  });

  test('P:T-3 whatever the strings hold, what is stored is fit for jsonb, and a payload keeps its value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.json(), (raw, payload) => {
        const dirty = `${raw}\u0000\uDC00`;
        const stored = encodeWorkItem({ kind: 'QueueMessage', instance: dirty, name: dirty, data: payload });
        expect(stored).not.toContain('\u0000');
        expect(stored.isWellFormed()).toBe(true);
        expect(/(^|[^\\])(\\\\)*\\u0000/.test(stored)).toBe(false);
        expect(/(^|[^\\])(\\\\)*\\ud[89a-f]/i.test(stored)).toBe(false);
        const read = decodeWorkItem(stored);
        expect(read).toMatchObject({ instance: toStorable(dirty), name: toStorable(dirty) });
        const { data } = read as { data: string };
        if (isStorable(payload)) expect(data).toBe(payload);
      }),
    );
  });

  test('any JSON at all is either read or rejected as what it is', () => {
    const attempt = (decode: () => unknown) => {
      try {
        decode();
      } catch (error) {
        expect(error).toBeInstanceOf(WireError);
      }
    };
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (any) => {
        attempt(() => decodeEvent(any));
        attempt(() => decodeWorkItem(any));
      }),
    );
    fc.assert(
      fc.property(item, event, fc.jsonValue(), (one, two, garbage) => {
        const stored = JSON.parse(encodeWorkItem(one)) as Record<string, Record<string, unknown>>;
        for (const [key, value] of Object.entries(stored)) {
          for (const field of Object.keys(value)) {
            attempt(() => decodeWorkItem(JSON.stringify({ [key]: { ...value, [field]: garbage } })));
          }
        }
        const fieldsOfEvent = JSON.parse(encodeEvent(two)) as Record<string, unknown>;
        for (const field of Object.keys(fieldsOfEvent)) {
          attempt(() => decodeEvent(JSON.stringify({ ...fieldsOfEvent, [field]: garbage })));
        }
      }),
    );
  });
});

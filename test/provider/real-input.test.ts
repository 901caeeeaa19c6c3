import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import { numbered, startedEvent } from '../../src/conformance/records.js';
import type { LockedOrchestrationItem, LockedWorkItem, Provider } from '../../src/provider/provider.js';
import { only } from '../../src/provider/single-forms.js';
import { encodeEvent } from '../../src/wire/event.js';
import { encodeWorkItem, targetInstance } from '../../src/wire/work-item.js';
import { fillSchema, insertRows, readRows, recordedRows, type FilledRows } from '../oracle/filled-schema.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import { openDrizzleProvider } from '../support/open-drizzle-provider.js';

const LOCK_MS = 30_000;
/** Timers of the filled schema are due after half a century. */
const CENTURY_MS = 100 * 365 * 86_400_000;

/** What native left behind, and our provider on it. */
interface Found {
  readonly rows: FilledRows;
  readonly provider: Provider;
  readonly clock: FakeClock;
}

describe('rows that native wrote, as recorded', () => {
  readsAndAcknowledges(async (schema, clock) => {
    const provider = await openDrizzleProvider({ schema, clock });
    const rows = recordedRows();
    await withClient((client) => insertRows(client, schema, rows));
    return { rows, provider, clock };
  });
});

(nativeAvailable ? describe : describe.skip)(`rows that native writes now ${nativeUnavailableReason}`, () => {
  readsAndAcknowledges(async (schema, clock) => {
    const sdk = await connectNative(databaseUrl(), schema);
    await withClient((client) => fillSchema(sdk, client, schema));
    await sdk.close();
    const rows = await withClient((client) => readRows(client, schema));
    return { rows, provider: await openDrizzleProvider({ schema, clock }), clock };
  });
});

function readsAndAcknowledges(find: (schema: string, clock: FakeClock) => Promise<Found>): void {
  const schema = uniqueSchema('real');
  let found: Found;

  beforeAll(async () => {
    // Whatever is not a far timer is due by then, and no lock of native's is live.
    found = await find(schema, new FakeClock(Date.now() + 3_600_000));
  });

  afterAll(async () => {
    await found.provider.close();
    await dropSchema(schema);
  });

  test('every history is read, and would be written the same, byte for byte', async () => {
    const { rows, provider } = found;
    expect(rows.history.length).toBeGreaterThan(20);
    for (const { instance_id: instance, execution_id: execution } of rows.executions) {
      const events = await provider.readWithExecution(String(instance), Number(execution));
      expect(events.map(encodeEvent)).toEqual(storedEvents(rows, String(instance), Number(execution)));
    }
  });

  test('every instance is described as its rows say', async () => {
    const { rows, provider } = found;
    const admin = provider.asManagement();
    expect((await admin.listInstances()).sort()).toEqual(
      rows.instances.map((row) => String(row['instance_id'])).sort(),
    );
    for (const row of rows.instances) {
      const instance = String(row['instance_id']);
      expect(await admin.getInstanceInfo(instance)).toMatchObject({
        orchestrationName: row['orchestration_name'],
        orchestrationVersion: row['orchestration_version'],
        currentExecutionId: row['current_execution_id'],
        parentInstanceId: row['parent_instance_id'],
        createdAtMs: Math.floor(Date.parse(String(row['created_at']))),
      });
      const status = await provider.getCustomStatus(instance, 0);
      expect(status?.status ?? null).toBe(row['custom_status']);
    }
  });

  test('every activity is fetched with what native stored, and acknowledged', async () => {
    const { rows, provider } = found;
    const works: LockedWorkItem[] = await provider.fetchWorkItems({
      limit: 100,
      lockTimeoutMs: LOCK_MS,
      tagFilter: { kind: 'any' },
      session: { ownerId: 'worker', lockTimeoutMs: LOCK_MS },
    });
    expect(works.map(({ item }) => asJson(encodeWorkItem(item)))).toEqual(storedItems(rows.worker_queue));
    expect(works.length).toBeGreaterThan(0);
    const results = await provider.ackWorkItems(
      works.map(({ item, instance, lockToken }) => {
        if (item.kind !== 'ActivityExecute') throw new Error(`an unexpected ${item.kind}`);
        const { executionId, id } = item;
        return {
          instance,
          lockToken,
          completion: { kind: 'ActivityCompleted', instance: item.instance, executionId, id, result: '"by us"' },
        };
      }),
    );
    for (const result of results) only([result]);
  });

  test('every message is fetched with history and values, and its turn acknowledged', async () => {
    const { rows, clock } = found;
    const messages = await drain(found);
    clock.advance(CENTURY_MS);
    messages.push(...(await drain(found)));
    const ours = messages.filter((message) => !JSON.stringify(message).includes('by us'));
    expect(sorted(ours)).toEqual(sorted(storedItems(rows.orchestrator_queue)));
    expect(messages.length - ours.length).toBe(rows.worker_queue.length);
    const left = await withClient((client) =>
      client.query(`select (select count(*) from ${pg.escapeIdentifier(schema)}.orchestrator_queue)
        + (select count(*) from ${pg.escapeIdentifier(schema)}.worker_queue)
        + (select count(*) from ${pg.escapeIdentifier(schema)}.instance_locks) as count`),
    );
    expect(left.rows).toEqual([{ count: '0' }]);
  });
}

/** Runs turns until nothing is ready; the messages that they consumed. */
async function drain({ rows, provider }: Found): Promise<unknown[]> {
  const messages: unknown[] = [];
  for (;;) {
    const { items, lost } = await provider.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: LOCK_MS });
    // Another test may hold an advisory key of the same instance, in its own schema.
    if (items.length + lost === 0) return messages;
    for (const item of items) {
      expect(item.historyError).toBeUndefined();
      expectStored(rows, item);
      messages.push(...item.messages.map((message) => asJson(encodeWorkItem(message))));
    }
    for (const result of await provider.ackOrchestrationItems(items.map(firstOrEmptyTurn))) only([result]);
  }
}

function asJson(text: unknown): unknown {
  return JSON.parse(String(text));
}

function storedEvents(rows: FilledRows, instance: string, execution: number): string[] {
  return rows.history
    .filter((row) => row['instance_id'] === instance && row['execution_id'] === execution)
    .sort((a, b) => Number(a['event_id']) - Number(b['event_id']))
    .map((row) => String(row['event_data']));
}

function storedItems(queue: readonly Record<string, unknown>[]): unknown[] {
  return [...queue].sort((a, b) => Number(a['id']) - Number(b['id'])).map((row) => asJson(row['work_item']));
}

/** In one order, keys included: layouts differ. */
function sorted(values: readonly unknown[]): string[] {
  const withSortedKeys = (_key: string, value: unknown): unknown =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return values.map((value) => JSON.stringify(value, withSortedKeys)).sort();
}

/** The item's metadata, history and snapshot are those of the rows. */
function expectStored(rows: FilledRows, item: LockedOrchestrationItem): void {
  const row = rows.instances.find((one) => one['instance_id'] === item.instance);
  if (row === undefined) {
    expect(item.history).toEqual({ kind: 'full', events: [] });
    return;
  }
  expect(item).toMatchObject({
    orchestrationName: row['orchestration_name'],
    version: row['orchestration_version'],
    executionId: row['current_execution_id'],
  });
  expect(item.history.events.map(encodeEvent)).toEqual(storedEvents(rows, item.instance, item.executionId));
  const kv = rows.kv_store.filter((one) => one['instance_id'] === item.instance);
  expect(Object.fromEntries(item.kvSnapshot ?? [])).toEqual(
    Object.fromEntries(
      kv.map((one) => [one['key'], { value: one['value'], lastUpdatedAtMs: Number(one['last_updated_at_ms']) }]),
    ),
  );
  for (const message of item.messages) expect(targetInstance(message)).toBe(item.instance);
}

/** Acknowledges a start with its first event, anything else without new events. */
function firstOrEmptyTurn(item: LockedOrchestrationItem) {
  const isNew = item.history.events.length === 0;
  const { instance, lockToken, executionId } = item;
  return {
    instance,
    lockToken,
    executionId,
    historyDelta: isNew ? numbered(instance, executionId, 1, [startedEvent(instance)]) : [],
    workerItems: [],
    orchestratorItems: [],
    metadata: isNew
      ? { orchestrationName: item.orchestrationName, orchestrationVersion: item.version.replace('unknown', '1.0.0') }
      : {},
    cancelledActivities: [],
  };
}

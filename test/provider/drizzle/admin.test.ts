import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { FakeClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/logger.js';
import { prunable } from '../../../src/provider/drizzle/admin/prune-executions.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import type { InstanceFilter, ProviderAdmin, PruneOptions } from '../../../src/provider/admin.js';
import { COMPAT_VERSION_TEXT } from '../../../src/wire/compat-version.js';
import { encodeEvent } from '../../../src/wire/event.js';
import { encodeWorkItem } from '../../../src/wire/work-item.js';
import { databaseUrl, dropSchema, isWaitedFor, uniqueSchema, withClient } from '../../support/database.js';
import { emptyTables } from '../../support/storage-helpers.js';
import { waitFor } from '../../support/waiting.js';

const schema = uniqueSchema('admin');
const clock = new FakeClock();
let provider: DrizzleProvider;
let admin: ProviderAdmin;
let client: pg.Client;

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), { schema, clock, logger: silentLogger });
  admin = provider.asManagement();
  client = new pg.Client({ connectionString: databaseUrl() });
  await client.connect();
  await client.query(`set search_path = "${schema}"`);
});
afterEach(() => client.query(emptyTables));
afterAll(async () => {
  await client.end();
  await provider.close();
  await dropSchema(schema);
});

const at = (ms: number) => new Date(ms).toISOString();

interface Row {
  readonly status?: string;
  readonly parent?: string;
  readonly completedAtMs?: number | null;
  readonly executions?: number;
}

/** An instance as it stands in the tables; all executions but the last continued as new, one per second. */
async function store(id: string, { status = 'Completed', parent, completedAtMs, executions = 1 }: Row = {}) {
  const startedMs = clock.nowMs();
  await client.query('insert into instances values ($1, $2, $3, $4, $5, $5, $6)', [
    id,
    'TestOrch',
    '1.0.0',
    executions,
    at(startedMs),
    parent ?? null,
  ]);
  for (let n = 1; n <= executions; n++) {
    const isLast = n === executions;
    const isOver = isLast && (status === 'Completed' || status === 'Failed');
    await client.query(
      'insert into executions (instance_id, execution_id, status, started_at, completed_at) values ($1, $2, $3, $4, $5)',
      [
        id,
        n,
        isLast ? status : 'ContinuedAsNew',
        at(startedMs + (n - 1) * 1_000),
        isOver && completedAtMs !== null ? at(completedAtMs ?? startedMs) : null,
      ],
    );
    await storeEvent(id, n, 1, { kind: 'OrchestrationCancelRequested', reason: 'x' });
  }
}

type Body = Parameters<typeof encodeEvent>[0] extends infer E ? (E extends { kind: string } ? Omit<E, keyof Envelope> : never) : never;
interface Envelope {
  eventId: number;
  sourceEventId: number | null;
  instanceId: string;
  executionId: number;
  timestampMs: number;
  duroxideVersion: string;
}

async function storeEvent(instanceId: string, executionId: number, eventId: number, body: Body) {
  const envelope: Envelope = {
    eventId,
    sourceEventId: null,
    instanceId,
    executionId,
    timestampMs: clock.nowMs(),
    duroxideVersion: COMPAT_VERSION_TEXT,
  };
  const event = { ...envelope, ...body } as Parameters<typeof encodeEvent>[0];
  await client.query('insert into history values ($1, $2, $3, $4, $5, $6)', [
    instanceId,
    executionId,
    eventId,
    'Event',
    encodeEvent(event),
    at(clock.nowMs()),
  ]);
}

async function storeStart(instance: string, parentInstance: string | null) {
  const item = encodeWorkItem({
    kind: 'StartOrchestration',
    instance,
    orchestration: 'Child',
    input: '{}',
    version: null,
    parentInstance,
    parentId: parentInstance === null ? null : 2,
    executionId: 1,
  });
  await client.query('insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values ($1, $2, $3, $3)', [
    instance,
    item,
    at(clock.nowMs()),
  ]);
}

const ids = async (table: string) => {
  const { rows } = await client.query<{ id: string }>(`select instance_id as id from ${table} order by 1`);
  return rows.map(({ id }) => id);
};

describe('bulk deletion', () => {
  test('P:T-14 an instance that continued as new is alive, for each kind of unforced deletion', async () => {
    await store('between', { status: 'ContinuedAsNew' });
    expect(await admin.deleteInstanceBulk({})).toMatchObject({ instancesDeleted: 0 });
    await expect(admin.deleteInstance('between', false)).rejects.toThrow(/running/i);
    await expect(admin.deleteInstancesAtomic(['between'], false)).rejects.toThrow(/running/i);
    expect(await admin.deleteInstance('between', true)).toMatchObject({ instancesDeleted: 1 });
  });

  test('P:T-14 the cascade is not forced: a root stays while anything of its tree runs', async () => {
    await store('root');
    await store('kid', { parent: 'root' });
    await store('grandkid', { parent: 'kid', status: 'Running' });
    expect(await admin.deleteInstanceBulk({})).toMatchObject({ instancesDeleted: 0 });
    expect(await ids('instances')).toEqual(['grandkid', 'kid', 'root']);
    await client.query(`update executions set status = 'Failed', completed_at = started_at where instance_id = 'grandkid'`);
    expect(await admin.deleteInstanceBulk({})).toMatchObject({ instancesDeleted: 3 });
  });

  test('C-06 roots that are skipped keep no later one from being deleted, however small the limit', async () => {
    for (let n = 0; n < 3; n++) {
      await store(`stuck-${n}`, { completedAtMs: clock.nowMs() - 10_000 });
      await store(`stuck-${n}-kid`, { parent: `stuck-${n}`, status: 'Running' });
    }
    await store('free');
    expect(await admin.deleteInstanceBulk({ limit: 1 })).toMatchObject({ instancesDeleted: 1 });
    expect(await ids('instances')).not.toContain('free');
  });

  test('the oldest completion goes first, microseconds of a foreign writer included', async () => {
    for (const [id, time] of [['b', '.000002'], ['a', '.000003'], ['c', '.000001']] as const) {
      await store(id);
      await client.query('update executions set completed_at = $2::timestamptz where instance_id = $1', [id, `2026-01-01 00:00:00${time}Z`]);
    }
    await admin.deleteInstanceBulk({ limit: 1 });
    expect(await ids('instances')).toEqual(['a', 'b']);
    await admin.deleteInstanceBulk({ limit: 1 });
    expect(await ids('instances')).toEqual(['a']);
  });

  test('a finished instance without completion time is never matched', async () => {
    await store('odd', { completedAtMs: null });
    expect(await admin.deleteInstanceBulk({})).toMatchObject({ instancesDeleted: 0 });
  });

  test.each<[string, InstanceFilter]>([
    ['a moment that is no number', { completedBeforeMs: NaN }],
    ['a negative limit', { limit: -1 }],
    ['a fraction', { limit: 1.5 }],
  ])('C-36 %s is refused, not taken for everything', async (_, filter) => {
    await store('kept');
    await expect(admin.deleteInstanceBulk(filter)).rejects.toMatchObject({ name: 'ProviderError', retryable: false });
    await expect(admin.pruneExecutionsBulk(filter, {})).rejects.toMatchObject({ retryable: false });
    expect(await ids('instances')).toEqual(['kept']);
  });

  test('C-36 a limit of 0 deletes nothing, and null means absent', async () => {
    await store('kept');
    expect(await admin.deleteInstanceBulk({ limit: 0 })).toMatchObject({ instancesDeleted: 0 });
    const nulls = { instanceIds: null, completedBeforeMs: null, limit: null } as unknown as InstanceFilter;
    expect(await admin.deleteInstanceBulk(nulls)).toMatchObject({ instancesDeleted: 1 });
  });
});

describe('deletion of a list', () => {
  test.each([
    ['derived', 'sub::2', 'parent::sub::2'],
    ['explicit', 'own-id', 'own-id'],
  ])('P:T-22 a queued child goes with its parent: %s id', async (_, scheduled, child) => {
    await store('parent');
    await storeEvent('parent', 1, 2, { kind: 'SubOrchestrationScheduled', name: 'Child', instance: scheduled, input: '{}' });
    await storeStart(child, 'parent');
    // Fetched, but not acknowledged yet: its turn must not bring it to life.
    const { items } = await provider.fetchOrchestrationItems({ limit: 1, lockTimeoutMs: 5_000 });
    expect(items[0]?.instance).toBe(child);
    expect(await admin.deleteInstance('parent', false)).toMatchObject({ instancesDeleted: 1, queueMessagesDeleted: 1 });
    expect(await ids('orchestrator_queue')).toEqual([]);
    expect(await ids('instance_locks')).toEqual([]);
  });

  test("P:T-22 a start message of somebody else's child with the same id stays", async () => {
    await store('parent');
    await storeEvent('parent', 1, 2, { kind: 'SubOrchestrationScheduled', name: 'Child', instance: 'own-id', input: '{}' });
    await storeStart('own-id', null);
    await storeStart('own-id', 'other');
    await admin.deleteInstance('parent', false);
    expect(await ids('orchestrator_queue')).toEqual(['own-id', 'own-id']);
  });

  test('P:T-22 an instance that already runs under the id of a child keeps its messages and its lock', async () => {
    await store('parent');
    await storeEvent('parent', 1, 2, { kind: 'SubOrchestrationScheduled', name: 'Child', instance: 'own-id', input: '{}' });
    await store('own-id', { status: 'Running' });
    await storeStart('own-id', 'parent');
    const { items } = await provider.fetchOrchestrationItems({ limit: 1, lockTimeoutMs: 5_000 });
    expect(items[0]?.instance).toBe('own-id');
    expect(await admin.deleteInstance('parent', false)).toMatchObject({ instancesDeleted: 1, queueMessagesDeleted: 0 });
    expect(await ids('orchestrator_queue')).toEqual(['own-id']);
    expect(await ids('instance_locks')).toEqual(['own-id']);
  });

  test('what cannot be read is deleted like the rest', async () => {
    await store('broken');
    await client.query(`update history set event_data = '{"type":"SubOrchestrationScheduled" oops'`);
    expect(await admin.deleteInstance('broken', false)).toMatchObject({ eventsDeleted: 1 });
  });

  test('P:T-7 an acknowledgement that holds its lock is waited for, and then nothing is left', async () => {
    await store('x', { status: 'Running' });
    await client.query(`insert into instance_locks values ('x', 'lock_t', $1, 0)`, [clock.nowMs() + 5_000]);
    await withClient(async (other) => {
      await other.query(`set search_path = "${schema}"`);
      await other.query('begin');
      await other.query(`select 1 from instance_locks where instance_id = 'x' for update`);
      const deleting = admin.deleteInstance('x', true);
      await waitFor('it waits', () => isWaitedFor(other));
      await other.query(`update executions set output = 'late' where instance_id = 'x'`);
      await other.query('commit');
      expect(await deleting).toMatchObject({ instancesDeleted: 1, executionsDeleted: 1 });
    });
    for (const table of ['instances', 'executions', 'history', 'instance_locks']) expect(await ids(table)).toEqual([]);
  });

  test('P:T-21 overlapping deletions in opposite orders finish without an error', async () => {
    const all = Array.from({ length: 30 }, (_, n) => `many-${n}`);
    for (const id of all) await store(id);
    const results = await Promise.all([
      admin.deleteInstancesAtomic(all, false),
      admin.deleteInstancesAtomic([...all].reverse(), false),
      admin.deleteInstancesAtomic(all.slice(10, 20), false),
    ]);
    expect(results.reduce((sum, { instancesDeleted }) => sum + instancesDeleted, 0)).toBe(30);
  });

  test('an id that is listed twice counts once, and an unknown one not at all', async () => {
    await store('x');
    expect(await admin.deleteInstancesAtomic(['x', 'x', 'nobody'], false)).toMatchObject({
      instancesDeleted: 1,
      executionsDeleted: 1,
      eventsDeleted: 1,
    });
  });
});

describe('pruning', () => {
  test('P:T-12 an execution that continued as new ended when the next one began', async () => {
    const startedMs = clock.nowMs();
    await store('x', { status: 'Running', executions: 4 });
    // The third one ended at +3 s, exactly: not before.
    const options: PruneOptions = { completedBeforeMs: startedMs + 3_000 };
    expect(await admin.pruneExecutions('x', options)).toEqual({
      instancesProcessed: 1,
      executionsDeleted: 2,
      eventsDeleted: 2,
    });
    expect(await admin.listExecutions('x')).toEqual([3, 4]);
    const { rows } = await client.query('select completed_at from executions where execution_id = 3');
    expect(rows).toEqual([{ completed_at: null }]);
  });

  test.each<[string, PruneOptions]>([
    ['NaN', { completedBeforeMs: NaN }],
    ['a negative number', { keepLast: -1 }],
    ['a fraction', { keepLast: 0.5 }],
  ])('C-36 %s is refused', async (_, options) => {
    await store('x', { executions: 3 });
    await expect(admin.pruneExecutions('x', options)).rejects.toMatchObject({ retryable: false });
    await expect(admin.pruneExecutionsBulk({}, options)).rejects.toMatchObject({ retryable: false });
    expect(await admin.listExecutions('x')).toEqual([1, 2, 3]);
  });

  test('which executions may go', () => {
    const execution = (executionId: number, status: string, isCurrent = false) => ({
      executionId,
      status,
      isCurrent,
      startedAtMs: executionId * 10,
      completedAtMs: null,
    });
    const executions = [
      execution(1, 'ContinuedAsNew'),
      execution(2, 'Running'),
      execution(3, 'ContinuedAsNew'),
      execution(4, 'ContinuedAsNew', true),
    ];
    expect(prunable(executions, {})).toEqual([1, 3]);
    expect(prunable(executions, { keepLast: 2 })).toEqual([1]);
    expect(prunable(executions, { completedBeforeMs: 20 })).toEqual([]);
    expect(prunable(executions, { completedBeforeMs: 21 })).toEqual([1]);
    expect(prunable([], { keepLast: 9 })).toEqual([]);
  });
});

describe('reads', () => {
  test('P:T-25 read follows the executions, the administrative read the current one', async () => {
    await store('x', { status: 'Running', executions: 2 });
    // A ghost, as native leaves them.
    await client.query(`insert into executions (instance_id, execution_id, started_at) values ('x', 3, now())`);
    await storeEvent('x', 3, 7, { kind: 'OrchestrationCancelRequested', reason: 'ghost' });
    expect((await provider.read('x')).map(({ eventId }) => eventId)).toEqual([7]);
    expect((await admin.readHistory('x')).map(({ executionId }) => executionId)).toEqual([2]);
    expect(await admin.latestExecutionId('x')).toBe(2);
  });

  test('listings are newest first, children oldest first', async () => {
    for (const id of ['a', 'b', 'c']) {
      await store(id, id === 'a' ? {} : { parent: 'a' });
      clock.advance(1_000);
    }
    expect(await admin.listInstances()).toEqual(['c', 'b', 'a']);
    expect(await admin.listInstancesByStatus('Completed')).toEqual(['c', 'b', 'a']);
    expect(await admin.listInstancesByStatus('completed')).toEqual([]);
    expect(await admin.listChildren('a')).toEqual(['b', 'c']);
  });

  test('a circle of parents does not hang the tree', async () => {
    await store('a', { parent: 'b' });
    await store('b', { parent: 'a' });
    expect(await admin.getInstanceTree('a')).toEqual({ rootId: 'a', allIds: ['a', 'b'] });
  });

  test('many values at once, in the order that was asked for', async () => {
    await client.query(`insert into kv_store values ('x', 'a', 'stored', 1, 0), ('x', 'b', 'hidden', 1, 0), ('y', 'a', 'other', 1, 0)`);
    await client.query(`insert into kv_delta values ('x', 'b', null, 0), ('x', 'c', 'new', 0)`);
    const keys = [
      { instance: 'x', key: 'c' },
      { instance: 'y', key: 'a' },
      { instance: 'x', key: 'b' },
      { instance: 'nobody', key: 'a' },
      { instance: 'x', key: 'a' },
      { instance: 'x', key: 'c' },
    ];
    expect(await provider.getKvValues(keys)).toEqual(['new', 'other', null, null, 'stored', 'new']);
    expect(await provider.getKvValues([])).toEqual([]);
  });

  test('the states of many instances at once, or only of those that ended', async () => {
    await store('done', {});
    await store('running', { status: 'Running', executions: 2 });
    await client.query(`update instances set custom_status = 'busy', custom_status_version = 3 where instance_id = 'running'`);
    const instances = ['running', 'nobody', 'done', 'done'];
    const all = await provider.instanceStates({ instances, endedOnly: false });
    expect(all.map(({ instance }) => instance).sort()).toEqual(['done', 'running']);
    expect(all.find(({ instance }) => instance === 'running')).toEqual({
      instance: 'running',
      orchestrationName: 'TestOrch',
      orchestrationVersion: '1.0.0',
      executionId: 2,
      status: 'Running',
      output: null,
      customStatus: 'busy',
      customStatusVersion: 3,
    });
    expect((await provider.instanceStates({ instances, endedOnly: true })).map(({ instance }) => instance)).toEqual(['done']);
    expect(await provider.instanceStates({ instances: [], endedOnly: false })).toEqual([]);
  });

  test('cleaning up drops the schema with everything in it', async () => {
    const other = uniqueSchema('gone');
    const doomed = await DrizzleProvider.connect(databaseUrl(), { schema: other, logger: silentLogger });
    await doomed.asManagement().cleanupSchema();
    const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [other]);
    expect(rowCount).toBe(0);
    await doomed.close();
  });
});

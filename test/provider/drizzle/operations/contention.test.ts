import { describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { ackOrchestrationItems } from '../../../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { enqueueForOrchestrator } from '../../../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import type { LockedOrchestrationItem, VersionFilter } from '../../../../src/provider/provider.js';
import { isWaitedFor } from '../../../support/database.js';
import { benchOfFile, helloMetadata, LOCK, outcomes, raised, started, startItem, turnOf } from './support.js';

const bench = await benchOfFile();
const ids = (count: number, prefix = 'order') => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
const instancesOf = (items: readonly LockedOrchestrationItem[]) => items.map(({ instance }) => instance).sort();

async function enqueue(...instances: string[]): Promise<void> {
  const results = await enqueueForOrchestrator(
    bench.ctx,
    instances.map((instance) => ({ item: raised(instance) })),
  );
  expect(new Set(outcomes(results))).toEqual(new Set(['ok']));
}

/** Instances that exist, so that messages for them are no orphans, with a message each. */
async function ready(...instances: string[]): Promise<void> {
  await bench.sql(
    `insert into instances (instance_id, orchestration_name, orchestration_version, created_at, updated_at)
      select unnest($1::text[]), 'Hello', '1.0.0', now(), now()`,
    [instances],
  );
  await enqueue(...instances);
}

describe('C-06 instances that cannot run now', () => {
  test('however many of their messages stand between those that can, a fetch takes all that it may', async () => {
    const inTurn = ids(600, 'busy');
    await ready(...inTurn);
    await fetchOrchestrationItems(bench.ctx, { limit: 600, ...LOCK });
    for (let i = 0; i < 3; i++) {
      await enqueue(...inTurn.slice(i * 200, i * 200 + 200), ...inTurn.slice(i * 200, i * 200 + 200));
      await ready(`free-${i}`);
    }
    const { items, lost } = await fetchOrchestrationItems(bench.another(), { limit: 50, ...LOCK });
    expect(instancesOf(items)).toEqual(['free-0', 'free-1', 'free-2']);
    expect(lost).toBe(0);
  });
});

test('of messages that became visible at one moment the lowest id counts, whatever else their instances have', async () => {
  await ready('a', 'b', 'c', 'd');
  await bench.sql('delete from orchestrator_queue');
  await enqueueForOrchestrator(bench.ctx, [{ item: raised('d'), delayMs: 100 }]);
  await enqueue('a', 'b', 'c', 'd');
  bench.clock.advance(100);
  const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 3, ...LOCK });
  expect(instancesOf(items)).toEqual(['a', 'b', 'c']);
});

describe('C-01 many fetchers', () => {
  test('10 fetchers on 10 instances: each gets one, in every round', async () => {
    for (let round = 0; round < 10; round++) {
      const all = ids(10, `round-${round}`);
      await ready(...all);
      const fetched = await Promise.all(
        all.map(() => fetchOrchestrationItems(bench.another(), { limit: 1, ...LOCK })),
      );
      expect(instancesOf(fetched.flatMap(({ items }) => items))).toEqual(all);
    }
  });

  test('12 fetchers on one instance with 40 messages: one gets all of them, the others know that they lost or that it is empty', async () => {
    await ready('busy');
    await enqueue(...Array.from({ length: 39 }, () => 'busy'));
    const fetched = await Promise.all(
      ids(12).map(() => fetchOrchestrationItems(bench.another(), { limit: 5, ...LOCK })),
    );
    const items = fetched.flatMap((one) => one.items);
    expect(items.map(({ messages }) => messages.length)).toEqual([40]);
    expect(await bench.sql('select count(*)::int as n from instance_locks')).toEqual([{ n: 1 }]);
  });

  test('8 fetchers and acknowledgers against a producer: every message is consumed once, nothing is left', async () => {
    const instances = ids(60);
    await ready(...instances);
    let producing = true;
    let produced = instances.length;
    const produce = async () => {
      for (let burst = 0; burst < 20; burst++) {
        const some = instances.filter((_, index) => index % 4 === burst % 4);
        await enqueue(...some);
        produced += some.length;
      }
      producing = false;
    };
    let consumed = 0;
    const work = async (limit: number) => {
      const ctx = bench.another();
      for (;;) {
        const wasProducing = producing;
        const { items, lost } = await fetchOrchestrationItems(ctx, { limit, ...LOCK });
        const results = await ackOrchestrationItems(ctx, items.map((item) => turnOf(item)));
        expect(outcomes(results).filter((outcome) => outcome !== 'ok')).toEqual([]);
        consumed += items.reduce((sum, { messages }) => sum + messages.length, 0);
        if (items.length === 0 && lost === 0 && !wasProducing) return;
      }
    };
    await Promise.all([produce(), ...[1, 1, 2, 5, 10, 10, 50, 50].map(work)]);
    expect(consumed).toBe(produced);
    expect(await bench.sql('select (select count(*) from orchestrator_queue)::int q, (select count(*) from instance_locks)::int l')).toEqual([
      { q: 0, l: 0 },
    ]);
  });
});

describe('somebody holds what a fetch wants', () => {
  test('C-03 XR-10 a colliding advisory key: the others are fetched at once, that one is lost, and fetched after the release', async () => {
    const [held, collides] = ['order-116870', 'order-126592'] as const;
    const hashes = await bench.sql('select hashtext($1) = hashtext($2) as same', [held, collides]);
    expect(hashes).toEqual([{ same: true }]);
    const others = ids(8);
    await ready(collides, ...others);
    await bench.sql("insert into instance_locks values ($1, 'theirs', 1, 0)", [held]);
    const holder = await bench.client();
    await holder.query('begin');
    await holder.query('select pg_advisory_xact_lock(hashtext($1))', [held]);

    const first = await fetchOrchestrationItems(bench.ctx, { limit: 10, ...LOCK });
    expect(instancesOf(first.items)).toEqual(others);
    expect(first.lost).toBe(1);
    const alone = await fetchOrchestrationItems(bench.ctx, { limit: 10, ...LOCK });
    expect(alone).toEqual({ items: [], lost: 1 });

    await holder.query('rollback');
    const after = await fetchOrchestrationItems(bench.ctx, { limit: 10, ...LOCK });
    expect(instancesOf(after.items)).toEqual([collides]);
    expect(await bench.sql('select lock_token from instance_locks where instance_id = $1', [held])).toEqual([
      { lock_token: 'theirs' },
    ]);
  });

  test('XR-7 T-5 a queue row locked for ever: never in the way, never a busy loop, never "empty"', async () => {
    await ready('stuck', 'free');
    const stranger = await bench.client();
    await stranger.query('begin');
    await stranger.query("select id from orchestrator_queue where instance_id = 'stuck' for update");
    const first = await fetchOrchestrationItems(bench.ctx, { limit: 10, ...LOCK });
    expect(instancesOf(first.items)).toEqual(['free']);
    const statements = await bench.counted(async () => {
      expect(await fetchOrchestrationItems(bench.ctx, { limit: 10, ...LOCK })).toEqual({ items: [], lost: 1 });
    });
    // A few rounds of a look with locks, what travels with it, and a look without.
    expect(statements.length).toBeLessThanOrEqual(12);
    await stranger.query('rollback');
  });

  test.each([
    { what: 'changed', change: `update orchestrator_queue set attempt_count = 4 where id = $1`, attempts: 5, messages: 3 },
    { what: 'removed', change: `delete from orchestrator_queue where id = $1`, attempts: 1, messages: 2 },
    { what: 'only locked', change: `select id from orchestrator_queue where id = $1 for update`, attempts: 1, messages: 3 },
  ])('another message of the instance is $what meanwhile: the claim waits and takes what is there then', async ({ change, attempts, messages }) => {
    await ready('x');
    await enqueue('x', 'x');
    const [{ id } = {}] = await bench.sql('select max(id) as id from orchestrator_queue');
    const stranger = await bench.client();
    await stranger.query('begin');
    await stranger.query(change, [id]);
    const fetching = fetchOrchestrationItems(bench.another(), { limit: 1, ...LOCK });
    await bench.untilWaiting(1);
    await stranger.query('commit');
    const { items } = await fetching;
    expect(items.map((item) => [item.messages.length, item.attemptCount])).toEqual([[messages, attempts]]);
  });

  test('an expired lock row that an acknowledgement works under is lost, and not waited for', async () => {
    await ready('x');
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, lockTimeoutMs: 1_000 });
    bench.clock.advance(1_000);
    const acknowledgement = await bench.client();
    await acknowledgement.query('begin');
    await acknowledgement.query("select instance_id from instance_locks where instance_id = 'x' for update");
    expect(await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK })).toEqual({ items: [], lost: 1 });
    await acknowledgement.query('rollback');

    const after = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    expect(after.items.map(({ instance, attemptCount }) => [instance, attemptCount])).toEqual([['x', 2]]);
    // C-04: the first holder comes too late, with whatever it decided.
    const late = turnOf(items[0] as LockedOrchestrationItem, { historyDelta: [started('x')], metadata: helloMetadata });
    const inTime = turnOf(after.items[0] as LockedOrchestrationItem, { historyDelta: [started('x')], metadata: helloMetadata });
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [late, inTime]))).toEqual(['Invalid lock token', 'ok']);
    expect(outcomes(await ackOrchestrationItems(bench.ctx, [late, inTime]))).toEqual(['Invalid lock token', 'Invalid lock token']);
    expect(await bench.sql('select count(*)::int as n from history')).toEqual([{ n: 1 }]);
  });

  test('XR-5 two acknowledgements of one token wait for each other at the lock row: one takes effect', async () => {
    await ready('x');
    const { items } = await fetchOrchestrationItems(bench.ctx, { limit: 1, ...LOCK });
    const turn = turnOf(items[0] as LockedOrchestrationItem, { orchestratorItems: [raised('y')] });
    const holder = await bench.client();
    await holder.query('begin');
    await holder.query("select instance_id from instance_locks where instance_id = 'x' for update");
    const both = [bench.another(), bench.another()].map((ctx) => ackOrchestrationItems(ctx, [turn]));
    await bench.untilWaiting(2);
    await holder.query('rollback');
    const all = (await Promise.all(both)).flatMap(outcomes);
    expect(all.sort()).toEqual(['Invalid lock token', 'ok']);
    expect(await bench.sql("select count(*)::int as n from orchestrator_queue where instance_id = 'y'")).toEqual([{ n: 1 }]);
  });
});

describe('C-02 the messages of two instances are split between two fetchers', () => {
  /** A fetcher on a connection of its own: the messages of its window, by id, and the instance that it has won. */
  async function otherFetcher(window: readonly number[], won: string) {
    const client = await bench.client();
    await client.query('begin');
    const ids = (await bench.sql('select id from orchestrator_queue order by id')).map(({ id }) => id);
    await client.query('select from orchestrator_queue where id = any($1::bigint[]) for update', [
      window.map((at) => ids[at]),
    ]);
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [won]);
    return {
      client,
      /** What the statement of a fetch does last. */
      claimRest: () => client.query('update orchestrator_queue set attempt_count = 1 where instance_id = $1', [won]),
    };
  }

  /** Whether `client` is waited for before `work` has ended. */
  async function isInTheWay(client: pg.Client, work: Promise<unknown>): Promise<boolean> {
    let hasEnded = false;
    work.then(
      () => (hasEnded = true),
      () => (hasEnded = true),
    );
    while (!hasEnded) if (await isWaitedFor(client)) return true;
    return false;
  }

  const messagesOf = (items: readonly LockedOrchestrationItem[]) =>
    items.map(({ instance, messages }) => `${instance}: ${messages.length}`).sort();

  test('who won the later instance does not wait with a message of the earlier one in hand, and takes both afterwards', async () => {
    await ready('a', 'b');
    await enqueue('b', 'a');
    const other = await otherFetcher([0, 2], 'a');
    const fetching = fetchOrchestrationItems(bench.another(), { limit: 2, ...LOCK });
    expect(await isInTheWay(other.client, fetching)).toBe(false);
    expect(await fetching).toEqual({ items: [], lost: 2 });
    expect((await other.claimRest()).rowCount).toBe(2);
    await other.client.query('rollback');
    const { items } = await fetchOrchestrationItems(bench.another(), { limit: 2, ...LOCK });
    expect(messagesOf(items)).toEqual(['a: 2', 'b: 2']);
  });

  test('who comes upon the later instance by a second look waits, with nothing of the earlier one in hand', async () => {
    await ready('a', 'b');
    await enqueue('b');
    const other = await otherFetcher([2], 'a');
    const fetching = fetchOrchestrationItems(bench.another(), { limit: 1, ...LOCK });
    expect(await isInTheWay(other.client, fetching)).toBe(true);
    // Would be a deadlock, if it held the message of its first look.
    expect((await other.claimRest()).rowCount).toBe(1);
    await other.client.query('rollback');
    const { items, lost } = await fetching;
    expect({ items: messagesOf(items), lost }).toEqual({ items: ['b: 2'], lost: 1 });
  });

  test('who won the earlier one waits for its message: none of them is left out', async () => {
    await ready('a', 'b');
    await enqueue('b', 'a');
    const other = await otherFetcher([1, 3], 'b');
    const fetching = fetchOrchestrationItems(bench.another(), { limit: 2, ...LOCK });
    expect(await isInTheWay(other.client, fetching)).toBe(true);
    await other.client.query('rollback');
    const { items, lost } = await fetching;
    expect({ items: messagesOf(items), lost }).toEqual({ items: ['a: 2'], lost: 1 });
  });
});

describe('what changes between the claim and the load', () => {
  const FILTER: VersionFilter = { ranges: [{ min: { major: 0, minor: 0, patch: 0 }, max: { major: 0, minor: 1, patch: 30 } }] };

  test('an instance that was pinned outside of the range meanwhile goes back as if nobody had fetched it', async () => {
    await ready('x', 'y');
    await bench.sql("insert into executions (instance_id, execution_id, started_at) values ('x', 1, now()), ('y', 1, now())");
    const ctx = bench.another(async ({ text }) => {
      if (text.includes("'instance' as kind")) await bench.sql("update executions set duroxide_version_major = 9, duroxide_version_minor = 0, duroxide_version_patch = 0 where instance_id = 'x'");
    });
    const { items } = await fetchOrchestrationItems(ctx, { limit: 2, ...LOCK, filter: FILTER });
    expect(instancesOf(items)).toEqual(['y']);
    expect(await bench.sql("select attempt_count, lock_token from orchestrator_queue where instance_id = 'x'")).toEqual([
      { attempt_count: 0, lock_token: null },
    ]);
    expect(await bench.sql('select instance_id from instance_locks')).toEqual([{ instance_id: 'y' }]);
  });

  test('the load sees what was committed after the claim: it is a statement of its own', async () => {
    await enqueueForOrchestrator(bench.ctx, [{ item: startItem('x') }]);
    const ctx = bench.another(async ({ text }) => {
      if (text.includes("'instance' as kind")) {
        await bench.sql("insert into instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at) values ('x', 'Other', '2.0.0', 3, now(), now())");
      }
    });
    const { items } = await fetchOrchestrationItems(ctx, { limit: 1, ...LOCK });
    expect(items.map(({ orchestrationName, version, executionId }) => [orchestrationName, version, executionId])).toEqual([
      ['Other', '2.0.0', 3],
    ]);
  });
});

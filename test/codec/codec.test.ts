import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { checkInvariants } from '../../src/doctor/index.js';
import { CodecError, type PayloadCodec } from '../../src/provider/codec/payload-codec.js';
import { withCodec } from '../../src/provider/codec/codec-provider.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { Provider } from '../../src/provider/provider.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { replay, TestEnvironment } from '../../src/testing/index.js';
import { activity, event, orchestration } from '../../src/typed/definitions.js';
import { waitFor } from '../support/waiting.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

/** In every payload of these tests, and in nothing else. */
const MARKER = 'open-sesame';
/** Unreadable enough for a search of the tables, and right only for the instance that it was made for. */
const mirror: PayloadCodec = {
  name: 'mirror',
  encode: (payload, { instanceId }) => Buffer.from(`${instanceId}\n${payload}`).toString('hex'),
  async decode(data, { instanceId }) {
    const [owner = '', ...payload] = Buffer.from(data, 'hex').toString().split('\n');
    if (owner !== instanceId) throw new Error(`a value of ${owner} was read as one of ${instanceId}`);
    return payload.join('\n');
  },
};

const answer = event<string>('answer');
const echo = activity('echo', (_ctx, text: string) => `${text}, echoed`);
const child = orchestration('child', async (ctx, text: string) => ctx.call(echo, `${text} of the child`));
const rounds = orchestration('rounds', async (ctx, seen: string[]): Promise<string[]> => {
  ctx.status.set(`${MARKER} listens for ${seen.length}`);
  const all = [...seen, await ctx.waitForEvent<string>('raised')];
  return all.length > 2 ? all : ctx.continueAsNew(all);
});
const everything = orchestration('everything', async (ctx, text: string) => {
  ctx.status.set(`${text} as status`);
  ctx.kv.set('key', `${text} as value`);
  const echoed = await ctx.call(echo, text);
  const ofChild = await ctx.call(child, text);
  const message = await ctx.dequeue(answer);
  return { echoed, ofChild, message, value: ctx.kv.get('key') };
});

describe('a store with a codec', () => {
  const schema = uniqueSchema('codec');
  let store: DrizzleProvider;
  beforeAll(async () => {
    store = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  });
  afterAll(async () => {
    await store.close();
    await dropSchema(schema);
  });

  async function running<T>(provider: Provider, use: (client: Client) => Promise<T>): Promise<T> {
    const runtime = new Runtime(provider, { logger: silentLogger, warmInstances: 0, dispatcherPollIntervalMs: 5 });
    runtime.register(echo, child, rounds, everything);
    await runtime.start();
    try {
      return await use(new Client(provider));
    } finally {
      await runtime.shutdown();
    }
  }

  /** Columns of the schema, with the number of rows in which the marker can be read. */
  const readable = () =>
    withClient(async (client) => {
      const { rows: tables } = await client.query<{ name: string }>(
        `select table_name as name from information_schema.tables where table_schema = $1`,
        [schema],
      );
      const found: Record<string, number> = {};
      for (const { name } of tables) {
        const { rows } = await client.query<{ n: number }>(
          `select count(*)::int as n from ${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)} t
            where t::text like $1`,
          [`%${MARKER}%`],
        );
        const n = rows[0]?.n ?? 0;
        if (n > 0) found[name] = n;
      }
      return { tables: tables.length, found };
    });

  test('every kind of payload makes the round trip, and none can be read in the tables', async () => {
    const provider = withCodec(store, mirror);
    const client = new Client(provider);
    const handle = await client.start(everything, MARKER, { id: 'all' });
    await handle.events.enqueue(answer, `${MARKER} as message`);
    // Messages that wait are stored, too.
    expect(await readable()).toMatchObject({ found: {} });
    const output = await running(provider, () => handle.result());
    expect(output).toEqual({
      echoed: `${MARKER}, echoed`,
      ofChild: `${MARKER} of the child, echoed`,
      message: `${MARKER} as message`,
      value: `${MARKER} as value`,
    });
    expect((await client.getStatus('all')).customStatus).toContain(`${MARKER} as status`);
    expect(await client.getKvAllValues('all')).toEqual({ key: expect.stringContaining(`${MARKER} as value`) });
    const { tables, found } = await readable();
    expect(tables).toBeGreaterThan(9);
    expect(found).toEqual({});
    expect((await store.read('all')).length).toBe((await provider.read('all')).length);
    // A process without the codec is told of which one it was, in place of each value.
    const without = new Client(store).handle(everything, 'all');
    const encoded = { 'ddz:codec': 'mirror', data: expect.any(String) };
    expect(await without.result()).toEqual(encoded);
    expect(await without.status()).toMatchObject({ status: 'Completed', output: encoded, custom: encoded });
    expect(JSON.parse((await new Client(store).getKvAllValues('all'))['key'] ?? '')).toEqual(encoded);
  });

  test('raised events, continue-as-new, schedules, and starts in a transaction make the round trip', async () => {
    const provider = withCodec(store, mirror);
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    const output = await running(provider, async (client) => {
      await drizzle(pool).transaction(async (tx) => {
        const within = client.withTransaction(tx);
        await within.start(rounds, [`${MARKER} input`], { id: 'rounds', ifExists: 'error' });
        await within.start(child, `${MARKER} beside`, { id: 'beside-rounds' });
      });
      await expect(client.start(rounds, [], { id: 'rounds', ifExists: 'error' })).rejects.toThrow('exists already');
      await client.start(child, `${MARKER} once`, { id: 'once', ifExists: 'error' });
      let seen = 0;
      for (const round of ['first', 'second']) {
        const status = await client.waitForStatusChange('rounds', seen, 5, 60_000);
        seen = status.customStatusVersion ?? 0;
        expect(status.customStatus).toContain(`${MARKER} listens`);
        await client.raiseEvent('rounds', 'raised', `${MARKER} ${round}`);
      }
      await client.schedules.create({
        id: 'scheduled',
        orchestration: child,
        input: `${MARKER} scheduled`,
        everyMs: 86_400_000,
      });
      expect(await client.schedules.get('scheduled')).toMatchObject({ input: `${MARKER} scheduled` });
      expect((await readable()).found).toEqual({});
      const fired = await client.schedules.trigger('scheduled');
      return [
        await client.handle(rounds, 'rounds').result(),
        await client.handle(child, 'beside-rounds').result(),
        await client.handle(child, 'once').result(),
        await client.handle(child, fired).result(),
      ];
    }).finally(() => pool.end());
    expect(output).toEqual([
      [`${MARKER} input`, `${MARKER} first`, `${MARKER} second`],
      ...['beside', 'once', 'scheduled'].map((what) => `${MARKER} ${what} of the child, echoed`),
    ]);
    expect((await readable()).found).toEqual({});
  });

  test('what was stored before there was a codec is read as it is', async () => {
    await new Client(store).start(child, 'plain', { id: 'before' });
    const output = await running(withCodec(store, mirror), (client) => client.handle(child, 'before').result());
    expect(output).toBe('plain of the child, echoed');
  });

  test('a codec that throws on encode: nothing is stored, and the error names definition and instance', async () => {
    const secret = new Error(`no key for ${MARKER}`);
    const broken = withCodec(store, {
      ...mirror,
      encode() {
        throw secret;
      },
    });
    const error: unknown = await new Client(broken).start(child, MARKER, { id: 'refused' }).catch((e: unknown) => e);
    const { message, cause } = error as Error;
    expect(CodecError.is(cause)).toBe(true);
    expect(cause).toMatchObject({ direction: 'encode', instanceId: 'refused', cause: secret });
    expect(message).toContain("orchestration 'child'");
    expect(message).toContain("instance 'refused'");
    expect(message).not.toContain(MARKER);
    const client = new Client(broken);
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    const doors: Readonly<Record<string, () => Promise<unknown>>> = {
      'a start if absent': () => client.start(child, MARKER, { id: 'refused', ifExists: 'error' }),
      'a raised event': () => client.raiseEvent('refused', 'raised', MARKER),
      'a message': () => client.enqueueEvent('refused', 'mailbox', MARKER),
      'a start in a transaction': () =>
        drizzle(pool).transaction((tx) => client.withTransaction(tx).start(child, MARKER, { id: 'refused' })),
      'a start if absent in a transaction': () =>
        drizzle(pool).transaction((tx) =>
          client.withTransaction(tx).start(child, MARKER, { id: 'refused', ifExists: 'error' }),
        ),
      'a schedule': () =>
        client.schedules.create({ id: 'refused', orchestration: child, input: MARKER, everyMs: 86_400_000 }),
    };
    for (const [door, call] of Object.entries(doors)) {
      const { message: text } = (await call().catch((reason: unknown) => reason)) as Error;
      expect(`${door}: ${text}`).toContain("'refused'");
      expect(`${door}: ${text}`).toContain("codec 'mirror'");
      expect(`${door}: ${text}`).not.toContain(MARKER);
    }
    await pool.end();
    expect(await new Client(store).schedules.list()).not.toContainEqual(expect.objectContaining({ id: 'refused' }));
    expect((await new Client(store).getStatus('refused')).status).toBe('NotFound');
    expect(await store.due()).toMatchObject({ orchestrator: false });
  });

  test('what cannot be decoded is put off beside a neighbour that finishes, and goes on with the right codec', async () => {
    const right = withCodec(store, mirror);
    const stuck = await new Client(right).start(child, 'later', { id: 'stuck' });
    const logged: string[] = [];
    const wrong = withCodec(
      store,
      {
        ...mirror,
        decode(data, context) {
          if (context.instanceId === 'stuck') throw new Error('no key');
          return mirror.decode(data, context);
        },
      },
      { logger: { ...silentLogger, error: (_fields, message) => void logged.push(message) } },
    );
    const neighbour = await running(wrong, async (client) =>
      (await client.start(child, 'now', { id: 'beside' })).result(),
    );
    expect(neighbour).toBe('now of the child, echoed');
    expect(logged.length).toBeGreaterThan(0);
    expect(logged[0]).toContain("instance 'stuck'");
    expect(await running(right, () => stuck.result())).toBe('later of the child, echoed');
  });

  test('what cannot be decoded rejects those who ask for it, and nobody beside them', async () => {
    const right = withCodec(store, mirror);
    const wrong = withCodec(store, {
      ...mirror,
      decode(data, context) {
        if (context.instanceId.startsWith('bad')) throw new Error('no key');
        return mirror.decode(data, context);
      },
    });
    const shows = orchestration('shows', async (ctx, text: string) => {
      ctx.status.set(text);
      ctx.kv.set('key', text);
      return text;
    });
    const ids = ['bad-1', 'good-1', 'bad-2', 'good-2'];
    const runtime = new Runtime(right, { logger: silentLogger });
    runtime.register(shows);
    await runtime.start();
    const client = new Client(right);
    await Promise.all(ids.map(async (id) => (await client.start(shows, MARKER, { id })).result()));
    await runtime.shutdown();

    const reader = new Client(wrong);
    const told = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
      outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as Error).message : outcome.value));
    const unreadable = (id: string) => expect.stringMatching(`could not decode .*instance '${id}'`) as unknown;
    const expected = [unreadable('bad-1'), MARKER, unreadable('bad-2'), MARKER];
    const results = ids.map((id) => reader.handle(shows, id).result());
    expect(told(await Promise.allSettled(results))).toEqual(expected);
    const waits = ids.map(async (id) => (await reader.waitForOrchestration(id)).output);
    expect(told(await Promise.allSettled(waits))).toEqual(expected);
    const values = ids.map(async (id) => JSON.parse(await reader.waitForValue(id, 'key')) as unknown);
    expect(told(await Promise.allSettled(values))).toEqual(expected);
    await expect(reader.getStatus('bad-1')).rejects.toThrow('could not decode');
    await expect(reader.handle(shows, 'bad-1').status()).rejects.toThrow('could not decode');

    for (const id of ['bad-schedule', 'good-schedule']) {
      await client.schedules.create({ id, orchestration: shows, input: MARKER, everyMs: 86_400_000, paused: true });
    }
    const problem = expect.stringContaining("could not decode the input of schedule 'bad-schedule'") as unknown;
    expect(await reader.schedules.list()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'bad-schedule', input: undefined, problem }),
        expect.objectContaining({ id: 'good-schedule', input: MARKER, problem: null }),
      ]),
    );
    // It can be put right with the wrong key at hand, too, and changes do not touch the input.
    expect(await reader.schedules.update('bad-schedule', { everyMs: 43_200_000 })).toMatchObject({ problem });
    expect(await client.schedules.get('bad-schedule')).toMatchObject({ input: MARKER, problem: null });
  });

  test('a codec that answers differently each time: what is stored twice agrees, and nobody replays what is encoded', async () => {
    const salted: PayloadCodec = {
      ...mirror,
      name: 'salted',
      encode: (payload) => `${randomUUID()}${Buffer.from(payload).toString('hex')}`,
      decode: (data) => Buffer.from(data.slice(36), 'hex').toString(),
    };
    const provider = withCodec(store, salted);
    await running(provider, async (client) => {
      const handle = await client.start(rounds, [], { id: 'salted-rounds' });
      for (const [n, text] of ['a', 'b', 'c'].entries()) {
        await waitFor('it listens', async () => (await provider.read('salted-rounds')).at(-1)?.executionId === n + 1);
        await waitFor('it waits', async () =>
          (await provider.read('salted-rounds')).some(({ kind }) => kind === 'ExternalSubscribed'),
        );
        await handle.events.raise('raised', text);
      }
      expect(await handle.result()).toEqual(['a', 'b', 'c']);
    });
    const runtime = new Runtime(store, { logger: silentLogger });
    runtime.register(child, rounds, everything);
    const pool = new pg.Pool({ connectionString: databaseUrl(), max: 1 });
    const report = await checkInvariants(drizzle(pool), { schema, orchestrations: runtime });
    await pool.end();
    expect(report.violations).toEqual([]);
    expect(report.checked.notReplayed).toBeGreaterThanOrEqual(3);
  });

  test('a second codec, and what is none, are refused', () => {
    expect(() => withCodec(withCodec(store, mirror), mirror)).toThrow('has a codec already');
    expect(() => withCodec(store, { ...mirror, name: 'a b' })).toThrow('got a b');
    expect(() => withCodec(store, undefined as never)).toThrow(
      'expected a codec { name, encode, decode }, got undefined',
    );
    expect(() => withCodec(undefined as never, mirror)).toThrow('withCodec: expected a provider, got undefined');
  });
});

test('refused in a schema that native may share, unless forced', () => {
  const shared = { wakeUps: () => ({ sharedWithNative: true }) } as unknown as Provider;
  expect(() => withCodec(shared, mirror)).toThrow(UnsupportedError);
  expect(() => withCodec(shared, mirror, { force: true })).not.toThrow();
});

test('a history recorded through a codec replays without it', async () => {
  const env = await TestEnvironment.create({
    store: async ({ clock, logger }) => withCodec(await DrizzleProvider.embedded({ clock, logger }), mirror),
    definitions: [echo, child],
  });
  try {
    expect(await env.run(child, MARKER, { id: 'kept' })).toBe(`${MARKER} of the child, echoed`);
    expect(await replay(child, await env.history('kept'))).toMatchObject({ state: 'completed' });
  } finally {
    await env.close();
  }
}, 60_000);

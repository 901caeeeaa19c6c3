import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { declareOrchestration, event } from '../../src/typed/definitions.js';
import {
  DEFAULT_MAX_PAYLOAD_BYTES,
  MAX_DERIVED_CHILD_ID_BYTES,
  MAX_INSTANCE_ID_BYTES,
  MAX_NAME_BYTES,
} from '../../src/wire/limits.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { around, sized, sizedPayload } from './sized-text.js';

/** Small, so that payloads at the limit cost nothing; the default is tested by itself. */
const MAX_PAYLOAD = 5_000;

const schema = uniqueSchema('limits');
/** What the pool was asked to do. */
let statements = 0;
let pool: pg.Pool;
let db: ReturnType<typeof databaseOn>;
const databaseOn = (of: pg.Pool) => drizzle(of);
let provider: DrizzleProvider;
let client: Client;

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: databaseUrl(), max: 4 });
  db = databaseOn(pool);
  provider = await DrizzleProvider.fromPool(pool, { schema, logger: silentLogger, notifications: false });
  const counting = new Proxy(provider, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const result: unknown = (value as (...all: unknown[]) => unknown).apply(target, args);
        if (property === 'within' || property === 'asManagement') return counted(result as object);
        if (result instanceof Promise) statements += 1;
        return result;
      };
    },
  });
  client = new Client(counting, { maxPayloadBytes: MAX_PAYLOAD });
});
afterAll(async () => {
  await provider.close();
  await pool.end();
  await dropSchema(schema);
});
beforeEach(() => {
  statements = 0;
});

function counted(of: object): object {
  return new Proxy(of, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        statements += 1;
        return (value as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

/** The doors that a client and a client in a transaction share. */
type Sender = Pick<
  Client,
  'startOrchestration' | 'startOrchestrationVersioned' | 'raiseEvent' | 'enqueueEvent' | 'cancelInstance'
>;

interface Door {
  readonly what: string;
  readonly limit: number;
  readonly send: (sender: Sender, bytes: number) => Promise<unknown>;
}

const doors: readonly Door[] = [
  { what: 'start: instance id', limit: MAX_INSTANCE_ID_BYTES, send: (c, n) => c.startOrchestration(sized(n), 'O') },
  { what: 'start: name', limit: MAX_NAME_BYTES, send: (c, n) => c.startOrchestration('i', sized(n)) },
  { what: 'start: input', limit: MAX_PAYLOAD, send: (c, n) => c.startOrchestration('i', 'O', sizedPayload(n)) },
  {
    what: 'versioned start: instance id',
    limit: MAX_INSTANCE_ID_BYTES,
    send: (c, n) => c.startOrchestrationVersioned(sized(n), 'O', 1, '1.0.0'),
  },
  {
    what: 'versioned start: name',
    limit: MAX_NAME_BYTES,
    send: (c, n) => c.startOrchestrationVersioned('i', sized(n), 1, '1.0.0'),
  },
  {
    what: 'versioned start: input',
    limit: MAX_PAYLOAD,
    send: (c, n) => c.startOrchestrationVersioned('i', 'O', sizedPayload(n), '1.0.0'),
  },
  { what: 'event: instance id', limit: MAX_DERIVED_CHILD_ID_BYTES, send: (c, n) => c.raiseEvent(sized(n), 'e') },
  { what: 'event: name', limit: MAX_NAME_BYTES, send: (c, n) => c.raiseEvent('i', sized(n)) },
  { what: 'event: data', limit: MAX_PAYLOAD, send: (c, n) => c.raiseEvent('i', 'e', sizedPayload(n)) },
  { what: 'queue: instance id', limit: MAX_DERIVED_CHILD_ID_BYTES, send: (c, n) => c.enqueueEvent(sized(n), 'q') },
  { what: 'queue: name', limit: MAX_NAME_BYTES, send: (c, n) => c.enqueueEvent('i', sized(n)) },
  { what: 'queue: data', limit: MAX_PAYLOAD, send: (c, n) => c.enqueueEvent('i', 'q', sizedPayload(n)) },
  { what: 'cancel: instance id', limit: MAX_DERIVED_CHILD_ID_BYTES, send: (c, n) => c.cancelInstance(sized(n)) },
  { what: 'cancel: reason', limit: MAX_PAYLOAD, send: (c, n) => c.cancelInstance('i', sized(n)) },
];

const definition = declareOrchestration<string, string>('Typed');
const typedDoors: readonly {
  readonly what: string;
  readonly limit: number;
  readonly send: (bytes: number) => Promise<unknown>;
}[] = [
  { what: 'start: id', limit: MAX_INSTANCE_ID_BYTES, send: (n) => client.start(definition, 'x', { id: sized(n) }) },
  { what: 'start: input', limit: MAX_PAYLOAD, send: (n) => client.start(definition, sizedPayload(n)) },
  {
    what: 'start, an id that must be new: id',
    limit: MAX_INSTANCE_ID_BYTES,
    send: (n) => client.start(definition, 'x', { id: sized(n, 'new'), ifExists: 'error' }),
  },
  {
    what: 'handle: event name',
    limit: MAX_NAME_BYTES,
    send: (n) => client.handle(definition, 'i').events.raise(sized(n)),
  },
  {
    what: 'handle: event data',
    limit: MAX_PAYLOAD,
    send: (n) => client.handle(definition, 'i').events.raise(event<string>('e'), sizedPayload(n)),
  },
  {
    what: 'handle: mailbox data',
    limit: MAX_PAYLOAD,
    send: (n) => client.handle(definition, 'i').events.enqueue('q', sizedPayload(n)),
  },
  { what: 'handle: reason', limit: MAX_PAYLOAD, send: (n) => client.handle(definition, 'i').cancel(sized(n)) },
];

const reading: readonly { readonly what: string; readonly ask: (id: string) => Promise<unknown> }[] = [
  { what: 'getStatus', ask: (id) => client.getStatus(id) },
  { what: 'waitForOrchestration', ask: (id) => client.waitForOrchestration(id, 0).catch(timeoutIsFine) },
  { what: 'waitForStatusChange', ask: (id) => client.waitForStatusChange(id, 0, 1, 0).catch(timeoutIsFine) },
  { what: 'getValue', ask: (id) => client.getValue(id, 'k') },
  { what: 'waitForValue', ask: (id) => client.waitForValue(id, 'k', 0).catch(timeoutIsFine) },
  { what: 'getKvAllValues', ask: (id) => client.getKvAllValues(id) },
  { what: 'listExecutions', ask: (id) => client.listExecutions(id).catch(unknownIsFine) },
  { what: 'readExecutionHistory', ask: (id) => client.readExecutionHistory(id, 1).catch(unknownIsFine) },
  { what: 'getInstanceTree', ask: (id) => client.getInstanceTree(id) },
  { what: 'getOrchestrationStats', ask: (id) => client.getOrchestrationStats(id) },
  { what: 'deleteInstance', ask: (id) => client.deleteInstance(id).catch(unknownIsFine) },
  { what: 'pruneExecutions', ask: (id) => client.pruneExecutions(id).catch(unknownIsFine) },
];

function timeoutIsFine(error: Error): void {
  if (!/time|Timed/i.test(error.message)) throw error;
}

function unknownIsFine(error: Error): void {
  if (error.name !== 'InstanceNotFoundError') throw error;
}

/** The refusal names the size and the limit, and quotes nothing. */
async function expectRefused(work: Promise<unknown>, bytes: number, limit: number): Promise<void> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'InvalidInputError' });
  const { message } = error as Error;
  expect(message).toContain(`(${bytes} bytes) exceeds limit (${limit} bytes)`);
  expect(message).not.toContain('éé');
  expect(statements).toBe(0);
}

const cases = <D extends { readonly limit: number; readonly what: string }>(of: readonly D[]) =>
  of.flatMap((door) => around(door.limit).map((size) => ({ ...door, ...size })));

describe('C-24 limits of a client (runtime.md 2.12), before any SQL', () => {
  test.each(cases(doors))('$what, $where', async ({ send, bytes, limit, fits }) => {
    if (!fits) return expectRefused(send(client, bytes), bytes, limit);
    await send(client, bytes);
    expect(statements).toBe(1);
  });

  test.each(cases(doors))("in the caller's transaction: $what, $where", async ({ send, bytes, limit, fits }) => {
    await db.transaction(async (tx) => {
      const sender = client.withTransaction(tx) as unknown as Sender;
      if (!fits) await expectRefused(send(sender, bytes), bytes, limit);
      else await send(sender, bytes);
      expect(statements).toBe(fits ? 1 : 0);
      // The transaction is the caller's, and goes on.
      await tx.execute('select 1');
    });
  });

  test.each(cases(typedDoors))('typed: $what, $where', async ({ send, bytes, limit, fits }) => {
    if (!fits) return expectRefused(send(bytes), bytes, limit);
    await send(bytes);
    expect(statements).toBeGreaterThan(0);
  });

  test.each(reading)('$what of an id that no instance can have', async ({ ask }) => {
    for (const { bytes, fits } of around(MAX_DERIVED_CHILD_ID_BYTES)) {
      statements = 0;
      if (fits) await ask(sized(bytes));
      else await expectRefused(ask(sized(bytes)), bytes, MAX_DERIVED_CHILD_ID_BYTES);
    }
  });

  test('without an option a payload may have 32 MiB', async () => {
    const ordinary = new Client(provider);
    await ordinary.enqueueEvent('i', 'q', sizedPayload(DEFAULT_MAX_PAYLOAD_BYTES));
    await expect(ordinary.enqueueEvent('i', 'q', sizedPayload(DEFAULT_MAX_PAYLOAD_BYTES + 1))).rejects.toThrow(
      `(${DEFAULT_MAX_PAYLOAD_BYTES + 1} bytes) exceeds limit (${DEFAULT_MAX_PAYLOAD_BYTES} bytes)`,
    );
  });

  test('an id that is too long and reserved is refused for its length, without being quoted', async () => {
    const id = sized(10_000_000, '::sub::');
    await expectRefused(client.startOrchestration(id, 'O'), 10_000_000, MAX_INSTANCE_ID_BYTES);
  });
});

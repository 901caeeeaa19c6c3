import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { Client, DrizzleProvider, Runtime, silentLogger } from '../../src/index.js';
import { checkInvariants } from '../../src/doctor/index.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { FailpointProxy } from '../support/failpoints.js';
import { type Handlers, register } from '../support/runtime-harness.js';

// A direct turn, cut off before and after each of its statements, COMMIT among them: the activity is
// recorded once, whether the turn was stored, or its outcome has to go through the queue, or it runs again.

const STATEMENTS = ['keys', 'activities', 'instances', 'executions', 'history', 'next activity', 'COMMIT'];
const IS_FIRST = /bool_and\(pg_try_advisory_xact_lock/;

const handlers: Handlers = {
  activities: { Echo: (_ctx, input) => input },
  orchestrations: {
    *Pair(ctx) {
      return [yield ctx.scheduleActivity('Echo', 1), yield ctx.scheduleActivity('Echo', 2)];
    },
  },
};

const schema = uniqueSchema('direct');
let proxy: FailpointProxy;
let direct: DrizzleProvider;
let pool: pg.Pool;
let runtime: Runtime;
let provider: DrizzleProvider;

beforeAll(async () => {
  proxy = await FailpointProxy.open(databaseUrl());
  provider = await DrizzleProvider.connect(proxy.url, { schema, logger: silentLogger });
  pool = new pg.Pool({ connectionString: databaseUrl(), max: 3 });
  direct = await DrizzleProvider.fromPool(pool, { schema, logger: silentLogger });
  runtime = new Runtime(provider, {
    logger: silentLogger,
    logLevel: 'off',
    dispatcherPollIntervalMs: 20,
    maxPollIntervalMs: 100,
    workerLockTimeoutMs: 1_000,
  });
  register(runtime, handlers);
  await runtime.start();
});
afterAll(async () => {
  await runtime.shutdown(0);
  await provider.close();
  await direct.close();
  await pool.end();
  await proxy.close();
  await dropSchema(schema);
});

/** Stops at a statement of the first direct turn that comes. */
function arm(when: 'before' | 'after', place: number) {
  let connection = -1;
  let seen = -1;
  return proxy.arm({
    when,
    at: (statement) => {
      if (connection < 0 && IS_FIRST.test(statement.text)) connection = statement.connection;
      if (statement.connection !== connection) return false;
      seen += 1;
      return seen === place;
    },
  });
}

const cases = STATEMENTS.flatMap((name, place) =>
  (['before', 'after'] as const).map((when) => ({ name, place, when })),
);

test.each(cases)('cut $when: $name', async ({ name, place, when }) => {
  const client = new Client(direct);
  const instance = `${when}-${place}`;
  const reached = arm(when, place);
  await client.startOrchestration(instance, 'Pair');
  const { text } = await reached;
  if (name === 'COMMIT') expect(text).toBe('COMMIT');
  proxy.cut();
  expect((await client.waitForOrchestration(instance, 30_000)).output).toEqual([1, 2]);
  const outcomes = (await direct.read(instance)).filter(({ kind }) => kind === 'ActivityCompleted');
  expect(outcomes).toHaveLength(2);
});

test('afterwards nothing is lost, doubled or stuck', async () => {
  expect((await checkInvariants(drizzle(pool), { schema })).violations).toEqual([]);
});

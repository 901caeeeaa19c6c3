import { afterEach, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import type { Handlers } from '../support/runtime-harness.js';
import { register, waitFor } from '../support/runtime-harness.js';

let cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

async function open(schema: string, url = databaseUrl()): Promise<DrizzleProvider> {
  const provider = await DrizzleProvider.connect(url, { schema, logger: silentLogger });
  cleanUps.push(() => provider.close());
  return provider;
}

async function start(provider: DrizzleProvider, handlers: Handlers, options = {}): Promise<Runtime> {
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', ...options });
  register(runtime, handlers);
  await runtime.start();
  cleanUps.push(() => runtime.shutdown(0));
  return runtime;
}

function freshSchema(): string {
  const schema = uniqueSchema('two');
  cleanUps.push(() => dropSchema(schema));
  return schema;
}

describe('two runtimes on one schema of PostgreSQL', () => {
  test('C-05 an activity that outlasts its lock three times over is started once', async () => {
    const schema = freshSchema();
    let starts = 0;
    let end = () => {};
    const handlers: Handlers = {
      activities: {
        Long: () => {
          starts += 1;
          return new Promise<string>((resolve) => (end = () => resolve('once')));
        },
      },
      orchestrations: {
        *Long(ctx) {
          return yield ctx.scheduleActivity('Long');
        },
      },
    };
    for (const provider of [await open(schema), await open(schema)]) {
      await start(provider, handlers, { workerLockTimeoutMs: 1_000 });
    }
    const client = new Client(await open(schema));
    await client.startOrchestration('i', 'Long');
    await waitFor('the activity begins', () => starts === 1);
    const lockedUntilMs = async () =>
      withClient(async (connection) => {
        const { rows } = await connection.query<{ at: string }>(
          `select locked_until as at from ${pg.escapeIdentifier(schema)}.worker_queue`,
        );
        return Number(rows[0]?.at);
      });
    const firstMs = await lockedUntilMs();
    await waitFor(
      'the lock was renewed far beyond its first end',
      async () => (await lockedUntilMs()) > firstMs + 3_000,
    );
    expect(starts).toBe(1);
    end();
    expect(await client.waitForOrchestrationTyped('i')).toBe('once');
    expect(starts).toBe(1);
  });

  test('C-34 two runtimes of a process on two schemas: each has its own function', async () => {
    for (const name of ['A', 'B']) {
      const provider = await open(freshSchema());
      await start(provider, {
        orchestrations: {
          *X() {
            return name;
          },
        },
      });
      const client = new Client(provider);
      await client.startOrchestration('same id', 'X');
      expect(await client.waitForOrchestrationTyped('same id')).toBe(name);
    }
  });
});

describe('C-18 a role with nothing but DML', () => {
  test('connects to a schema that its owner migrated, and runs orchestrations', async () => {
    const schema = freshSchema();
    await open(schema);
    const role = `ddz_rt_${randomBytes(5).toString('hex')}`;
    const quoted = pg.escapeIdentifier(schema);
    await withClient((client) =>
      client.query(
        `create role ${role} login password 'app';
         grant usage on schema ${quoted} to ${role};
         grant select, insert, update, delete on all tables in schema ${quoted} to ${role};
         grant usage on all sequences in schema ${quoted} to ${role}`,
      ),
    );
    cleanUps.push(() => withClient((client) => client.query(`drop owned by ${role}; drop role ${role}`)));
    const url = new URL(databaseUrl());
    url.username = role;
    url.password = 'app';
    const provider = await open(schema, url.toString());
    await start(provider, {
      activities: { Echo: (_ctx, input) => input },
      orchestrations: {
        *Echo(ctx, input) {
          ctx.setValue('k', input);
          return yield ctx.scheduleActivity('Echo', input);
        },
      },
    });
    const client = new Client(provider);
    await client.startOrchestration('i', 'Echo', 'as a guest');
    expect(await client.waitForOrchestrationTyped('i')).toBe('as a guest');
    expect(await client.getValue('i', 'k')).toBe('as a guest');
  });
});

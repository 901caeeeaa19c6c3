import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import type { OrchestrationStatus } from '../../src/client/status.js';
import type { IsolationLevel } from '../../src/provider/activity-transactions.js';
import type { Provider } from '../../src/provider/provider.js';
import { UnsupportedError } from '../../src/provider/provider-error.js';
import type { MetricsSnapshot } from '../../src/runtime/metrics.js';
import type { RuntimeOptions } from '../../src/runtime/options.js';
import { Runtime } from '../../src/runtime/runtime.js';
import type { TransactionalActivityContext } from '../../src/runtime/transactional-activity-context.js';
import { activity, orchestration } from '../../src/typed/definitions.js';
import { withClient } from '../support/database.js';
import { waitFor } from '../support/waiting.js';
import {
  closePglite,
  KINDS,
  type Kind,
  nodePostgres,
  type OpenOptions,
  openDatabase,
  pglite,
  postgresJs,
  type Tx,
} from './databases.js';

interface Order {
  readonly id: string;
  readonly cents: number;
}

type Pay = (ctx: TransactionalActivityContext, tx: Tx, order: Order) => Promise<string>;

interface ApplicationOptions extends OpenOptions {
  readonly runtime?: RuntimeOptions;
  readonly isolationLevel?: IsolationLevel;
}

/** An application with an orchestration that pays by a transactional activity, whose code each test gives. */
async function application(
  kind: Kind,
  { runtime: runtimeOptions, isolationLevel, ...options }: ApplicationOptions = {},
) {
  const opened = await openDatabase(kind, options);
  const client = new Client(opened.provider);
  const payments = new Map<string, Pay>();
  const pay = activity.transactional(
    'pay',
    (ctx, tx: Tx, order: Order) => {
      const code = payments.get(order.id);
      if (!code) throw new Error(`no code for ${order.id}`);
      return code(ctx, tx, order);
    },
    { isolationLevel },
  );
  const checkout = orchestration('checkout', async (ctx, order: Order) => `receipt ${await ctx.call(pay, order)}`);
  const waiter = orchestration('waiter', async (ctx) => await ctx.waitForEvent<string>('paid'));
  const runtimes: Runtime[] = [];
  const start = async (provider: Provider = opened.provider) => {
    const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off', ...runtimeOptions });
    runtime.register(pay, checkout, waiter);
    await runtime.start();
    runtimes.push(runtime);
    return runtime;
  };
  const runtime = await start();
  return {
    ...opened,
    client,
    runtime,
    start,
    checkout,
    code: (id: string, code: Pay) => void payments.set(id, code),
    /** Runs the orchestration with this code for its activity. */
    async run(id: string, code: Pay): Promise<OrchestrationStatus> {
      payments.set(id, code);
      await client.start(checkout, { id, cents: 100 }, { id });
      return client.waitForOrchestration(id, 60_000);
    },
    insert: async (tx: Tx, id: string) => {
      await tx.insert(opened.payments).values({ orderId: id, cents: 100 });
      return id;
    },
    metrics: () => runtime.metricsSnapshot() as MetricsSnapshot,
    async close() {
      for (const one of runtimes) await one.shutdown(0);
      await opened.close();
    },
  };
}

afterAll(closePglite);

type Application = Awaited<ReturnType<typeof application>>;

describe.each(KINDS)('transactional activities over $name', (kind) => {
  let app: Application;
  beforeAll(async () => {
    app = await application(kind);
  });
  afterAll(() => app.close());

  test("the application's rows and the completion are committed together", async () => {
    const before = app.metrics();
    const status = await app.run('together', (_ctx, tx, { id }) => app.insert(tx, id));
    expect(status).toMatchObject({ status: 'Completed', output: 'receipt together' });
    expect(await app.paid()).toContain('together');
    expect(app.metrics()).toMatchObject({
      activitySuccess: before.activitySuccess + 1,
      activityDiscarded: before.activityDiscarded,
      providerErrors: before.providerErrors,
    });
  });

  test('a throw rolls back and fails the activity, and the store has no row of it', async () => {
    const status = await app.run('throws', async (_ctx, tx, { id }) => {
      await app.insert(tx, id);
      throw new Error('no money');
    });
    expect(status.status).toBe('Failed');
    expect(status.error).toContain('no money');
    expect(await app.paid()).not.toContain('throws');
  });

  test('COMMIT or ROLLBACK by hand is refused with an error that names activity and instance, and nothing half is done', async () => {
    const commands = ['commit', 'ROLLBACK', 'end', `insert into "${app.schema}".payments values ('two', 1); commit`];
    for (const [index, command] of commands.entries()) {
      const status = await app.run(`by hand ${index}`, async (_ctx, tx, { id }) => {
        await app.insert(tx, id);
        await tx.execute(sql.raw(command));
        return 'not reached';
      });
      expect(status.status).toBe('Failed');
      expect(status.error).toContain(`activity 'pay' of instance 'by hand ${index}'`);
      expect(status.error).toMatch(/(COMMIT|ROLLBACK|END) is refused/);
    }
    expect((await app.paid()).filter((id) => id.startsWith('by hand') || id === 'two')).toEqual([]);
  });

  test('tx.rollback() is refused likewise; a savepoint may be rolled back', async () => {
    const code: Pay = async (_ctx, tx, { id }) => {
      await app.insert(tx, `${id}, kept`);
      await tx
        .transaction(async (nested) => {
          await app.insert(nested, `${id}, undone`);
          nested.rollback();
        })
        .catch(() => {});
      if (id === 'rolls back') tx.rollback();
      return id;
    };
    expect((await app.run('rolls back', code)).error).toContain('tx.rollback() is refused');
    expect((await app.run('savepoint', code)).status).toBe('Completed');
    expect((await app.paid()).filter((id) => id.includes(','))).toEqual(['savepoint, kept']);
  });

  test('what ctx.client starts and raises is part of the transaction', async () => {
    await app.client.startOrchestration('listening', 'waiter');
    await waitFor('it listens', async () => (await app.client.getStatus('listening')).status === 'Running');
    const code: Pay = async (ctx, tx, { id }) => {
      await app.insert(tx, id);
      await ctx.client.startOrchestration(`started: ${id}`, 'waiter');
      if (id === 'starts and fails') throw new Error('after the start');
      await ctx.client.raiseEvent('listening', 'paid', id);
      return id;
    };
    expect((await app.run('starts and fails', code)).status).toBe('Failed');
    expect((await app.run('starts', code)).status).toBe('Completed');
    expect(await app.client.waitForOrchestrationTyped('listening', 60_000)).toBe('starts');
    await waitFor('it runs', async () => (await app.client.getStatus('started: starts')).status === 'Running');
    expect((await app.client.getStatus('started: starts and fails')).status).toBe('NotFound');
  });

  test('an error that was caught is not committed: the activity fails and says what happened', async () => {
    const status = await app.run('catches', async (_ctx, tx, { id }) => {
      await app.insert(tx, id);
      await tx.execute(sql`select 1 / 0`).catch(() => {});
      return 'as if nothing had happened';
    });
    expect(status.error).toContain('its error was caught');
    expect(await app.paid()).not.toContain('catches');
  });

  test('a statement that nobody awaited belongs to the transaction, and one after its end is refused', async () => {
    let escaped: Tx | undefined;
    const status = await app.run('forgets', async (_ctx, tx, { id }) => {
      escaped = tx;
      await app.insert(tx, id);
      void tx.execute(sql`select 1 / 0`).catch(() => {});
      return id;
    });
    expect(status.status).toBe('Failed');
    expect(await app.paid()).not.toContain('forgets');
    await expect(app.insert(escaped as Tx, 'late')).rejects.toMatchObject({
      name: 'TransactionEndedError',
    });
    expect(await app.paid()).not.toContain('late');
  });

  test('a deadlock or serialization failure runs it again in the same attempt; for ever is not tried', async () => {
    let runs = 0;
    const conflict = sql`do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`;
    const code: Pay = async (_ctx, tx, { id }) => {
      runs += 1;
      await app.insert(tx, `${id} ${runs}`);
      if (id === 'conflicts for ever' || runs < 3) await tx.execute(conflict);
      return `after ${runs}`;
    };
    expect(await app.run('conflicts', code)).toMatchObject({ output: 'receipt after 3' });
    expect((await app.paid()).filter((id) => id.startsWith('conflicts'))).toEqual(['conflicts 3']);
    runs = 0;
    expect((await app.run('conflicts for ever', code)).error).toContain('conflict');
    expect(runs).toBe(5);
  });
});

describe.each([false, true])('transactional activities on a server, stored functions: %s', (storedFunctions) => {
  let app: Application;
  beforeAll(async () => {
    app = await application(nodePostgres, { storedFunctions });
  });
  afterAll(() => app.close());

  test('a lost lock: everything is rolled back and counted as lost, and whoever has the row completes it', async () => {
    let runs = 0;
    const before = app.metrics();
    const status = await app.run('lost', async (_ctx, tx, { id }) => {
      runs += 1;
      await app.insert(tx, id);
      // Another worker has taken the row after its lock ran out, and has given it back.
      if (runs === 1) {
        await withClient((client) =>
          client.query(`update "${app.schema}".worker_queue set lock_token = null, locked_until = null`),
        );
      }
      return `run ${runs}`;
    });
    expect(status).toMatchObject({ status: 'Completed', output: 'receipt run 2' });
    expect((await app.paid()).filter((id) => id === 'lost')).toHaveLength(1);
    expect(app.metrics()).toMatchObject({
      locksLost: before.locksLost + 1,
      activityDiscarded: before.activityDiscarded + 1,
      activitySuccess: before.activitySuccess + 1,
    });
  });

  test('a connection that breaks in the middle: nothing has happened, and the activity runs again', async () => {
    let runs = 0;
    const status = await app.run('breaks', async (_ctx, tx, { id }) => {
      runs += 1;
      await app.insert(tx, id);
      if (runs === 1) {
        const { rows } = (await tx.execute(sql`select pg_backend_pid() as pid`)) as { rows: { pid: number }[] };
        await withClient((client) => client.query('select pg_terminate_backend($1)', [rows[0]?.pid]));
        await app.insert(tx, id);
      }
      return `run ${runs}`;
    });
    expect(status).toMatchObject({ status: 'Completed', output: 'receipt run 2' });
    expect((await app.paid()).filter((id) => id === 'breaks')).toHaveLength(1);
  });

  test('a deferred constraint that fails at the commit fails the activity', async () => {
    await app.db.execute(
      sql.raw(`create table if not exists "${app.schema}".unique_later (n int unique deferrable initially deferred)`),
    );
    const status = await app.run('deferred', async (_ctx, tx, { id }) => {
      await app.insert(tx, id);
      await tx.execute(sql.raw(`insert into "${app.schema}".unique_later values (1), (1)`));
      return id;
    });
    expect(status.status).toBe('Failed');
    expect(status.error).toContain('unique_later');
    expect(await app.paid()).not.toContain('deferred');
  });
});

test('40001 of a real conflict: two serializable activities, the second runs again and sees the first', async () => {
  const app = await application(nodePostgres, { isolationLevel: 'serializable' });
  try {
    const [first, second] = [gate(), gate()];
    const runs = { first: 0, second: 0 };
    const total = async (tx: Tx) => (await tx.select().from(app.payments)).length;
    const firstDone = app.run('first', async (_ctx, tx, { id }) => {
      runs.first += 1;
      const seen = await total(tx);
      first.open();
      await second.opened;
      await app.insert(tx, id);
      return String(seen);
    });
    const secondDone = app.run('second', async (_ctx, tx, { id }) => {
      runs.second += 1;
      const seen = await total(tx);
      await app.insert(tx, id);
      // Both have read before either has written.
      await first.opened;
      second.open();
      return String(seen);
    });
    const outputs = [(await firstDone).output, (await secondDone).output].sort();
    expect(outputs).toEqual(['receipt 0', 'receipt 1']);
    expect(runs.first + runs.second).toBeGreaterThanOrEqual(3);
    expect(await app.paid()).toEqual(['first', 'second']);
  } finally {
    await app.close();
  }
});

test('40P01 of a real deadlock: the activity is the victim, and runs again in the same attempt', async () => {
  const app = await application(nodePostgres);
  const lock = (n: number) => sql`select pg_advisory_xact_lock(hashtext(${app.schema}), ${n}::int)`;
  try {
    await withClient(async (other) => {
      const otherLock = (n: number) =>
        other.query('select pg_advisory_xact_lock(hashtext($1), $2::int)', [app.schema, n]);
      await other.query('begin');
      // Whoever looks for deadlocks first is the victim: not this one.
      await other.query(`set local deadlock_timeout = '1h'`);
      await otherLock(2);
      const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
      let waits: Promise<unknown> | undefined;
      const attempts: unknown[] = [];
      const errors: unknown[] = [];
      const status = await app.run('deadlock', async (_ctx, tx, { id }) => {
        const queue = sql.raw(`"${app.schema}".worker_queue`);
        const found = (await tx.execute(sql`select attempt_count as n from ${queue}`)) as { rows: { n: number }[] };
        attempts.push(found.rows[0]?.n);
        await app.insert(tx, `${id} ${attempts.length}`);
        await tx.execute(sql`select set_config('deadlock_timeout', '1ms', true)`);
        await tx.execute(lock(1));
        if (attempts.length === 1) {
          // It gets the lock by our rollback, and gives both back.
          waits = otherLock(1).then(() => other.query('rollback'));
          await waitFor('the other waits for the activity', async () =>
            withClient(async (client) => {
              const blocked = await client.query('select 1 where cardinality(pg_blocking_pids($1)) > 0', [
                rows[0]?.pid,
              ]);
              return blocked.rowCount === 1;
            }),
          );
        }
        await tx.execute(lock(2)).catch((error: unknown) => {
          errors.push(error);
          throw error;
        });
        return `after ${attempts.length}`;
      });
      await waits;
      expect(status).toMatchObject({ status: 'Completed', output: 'receipt after 2' });
      expect(errors).toMatchObject([{ cause: { code: '40P01' } }]);
      expect(attempts).toEqual([1, 1]);
      expect(await app.paid()).toEqual(['deadlock 2']);
    });
  } finally {
    await app.close();
  }
});

describe.each([nodePostgres, postgresJs, pglite])('over $name a transaction that nobody waits for any more', (kind) => {
  test('is rolled back, and its connection is free, although its handler never ends', async () => {
    const app = await application(kind, { max: 4, runtime: { activityCancellationGracePeriodMs: 0 } });
    try {
      let isInside = false;
      let late: Promise<unknown> | undefined;
      let goOn = () => {};
      app.code('stuck', async (_ctx, tx, { id }) => {
        if (isInside) return 'given back by the worker that ended, and run by the next one';
        await app.insert(tx, id);
        isInside = true;
        await new Promise<void>((resolve) => (goOn = resolve));
        late = app.insert(tx, 'too late').catch((error: unknown) => error);
        await late;
        return 'never';
      });
      await app.client.start(app.checkout, { id: 'stuck', cents: 1 }, { id: 'stuck' });
      await waitFor('it is inside', () => isInside);
      // On the only connection no cancellation can be stored meanwhile: there the worker's end is what frees it.
      if (kind === pglite) await app.runtime.shutdown(0);
      else await app.client.cancelInstance('stuck', 'no longer');
      const worker = kind === pglite ? await app.start() : app.runtime;
      app.code('next', async (_ctx, tx, { id }) => app.insert(tx, id));
      await app.client.start(app.checkout, { id: 'next', cents: 1 }, { id: 'next' });
      expect(await app.client.waitForOrchestration('next', 15_000)).toMatchObject({ status: 'Completed' });
      goOn();
      await waitFor('it has tried to go on', () => late !== undefined);
      expect(await late).toBeInstanceOf(Error);
      expect(await app.paid()).toEqual(['next']);
      await worker.shutdown(0);
    } finally {
      await app.close();
    }
  });
});

test('a lock time-out of the acknowledgement is no failure of the activity, which runs again', async () => {
  const app = await application(nodePostgres);
  try {
    await withClient(async (other) => {
      await other.query('begin');
      let runs = 0;
      const done = app.run('blocked', async (_ctx, tx, { id }) => {
        runs += 1;
        await app.insert(tx, `${id} ${runs}`);
        if (runs === 1) {
          await other.query(`select 1 from "${app.schema}".worker_queue for update`);
          await tx.execute(sql`select set_config('lock_timeout', '1ms', true)`);
        }
        return `after ${runs}`;
      });
      await waitFor('it could not be acknowledged', () => app.metrics().activityInfraErrors === 1);
      await other.query('rollback');
      expect(await done).toMatchObject({ status: 'Completed', output: 'receipt after 2' });
      expect(await app.paid()).toEqual(['blocked 2']);
    });
  } finally {
    await app.close();
  }
});

test.each([
  ['53100', 'the disk is full: it runs again', { status: 'Completed', output: 'receipt full 2' }],
  ['23514', 'a constraint of its own: it fails', { status: 'Failed' }],
])('an error %s of the COMMIT, %s', async (code, _what, expected) => {
  const app = await application(nodePostgres);
  const name = (of: string) => sql.raw(`"${app.schema}".${of}`);
  try {
    await app.db.execute(sql`create sequence ${name('commits')}`);
    await app.db.execute(
      sql`create function ${name('refuse')}() returns trigger language plpgsql as ${sql.raw(`$$ begin
      if nextval('"${app.schema}".commits') = 1 then raise 'refused' using errcode = '${code}'; end if;
      return null;
    end $$`)}`,
    );
    await app.db.execute(sql`create constraint trigger refused after insert on ${app.payments}
      deferrable initially deferred for each row execute function ${name('refuse')}()`);
    let runs = 0;
    const status = await app.run('full', async (_ctx, tx, { id }) => {
      runs += 1;
      await app.insert(tx, `${id} ${runs}`);
      return `${id} ${runs}`;
    });
    expect(status).toMatchObject(expected);
    expect(await app.paid()).toEqual(expected.status === 'Failed' ? [] : ['full 2']);
  } finally {
    await app.close();
  }
});

describe.each([
  ['PGlite', pglite, 1],
  ['a pool of one', nodePostgres, 1],
] as const)('on %s a transactional activity runs alone', (_name, kind, max) => {
  let app: Application;
  beforeAll(async () => {
    app = await application(kind, { max, runtime: { workerLockTimeoutMs: 1_000 } });
  });
  afterAll(() => app.close());

  test('a call that would need a second connection is refused instead of hanging', async () => {
    const refusals: unknown[] = [];
    const calls = [
      () => app.client.startOrchestration('x', 'waiter'),
      () => app.client.getStatus('x'),
      () => app.client.waitForOrchestration('x', 60_000),
      () => app.provider.due(),
    ];
    const status = await app.run('refused', async (_ctx, tx, { id }) => {
      for (const call of calls) await call().catch((error: unknown) => refusals.push(error));
      return app.insert(tx, id);
    });
    expect(status.status).toBe('Completed');
    expect(refusals).toHaveLength(calls.length);
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(UnsupportedError);
      expect((refusal as Error).message).toContain('needs a second connection');
    }
    // Afterwards they work as ever.
    expect((await app.client.getStatus('x')).status).toBe('NotFound');
  });

  test('they come one after another, and one that outlasts its lock is not lost', async () => {
    let inside = 0;
    let most = 0;
    const code: Pay = async (_ctx, tx, { id }) => {
      most = Math.max(most, ++inside);
      await app.insert(tx, id);
      if (id === 'long') {
        await app.db.$client;
        const endsAtMs = performance.now() + 1_200;
        while (performance.now() < endsAtMs) await tx.execute(sql`select 1`);
      }
      inside -= 1;
      return id;
    };
    const before = app.metrics();
    const done = await Promise.all(['long', 'b', 'c', 'd'].map((id) => app.run(id, code)));
    expect(done.map(({ output }) => output)).toEqual(['receipt long', 'receipt b', 'receipt c', 'receipt d']);
    expect(most).toBe(1);
    expect((await app.paid()).filter((id) => id === 'long')).toHaveLength(1);
    expect(app.metrics().activitySuccess).toBe(before.activitySuccess + 4);
  });
});

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

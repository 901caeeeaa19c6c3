import { describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { handOverToNative, migrate } from '../../../../src/provider/drizzle/migrate/on-database.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../../../oracle/native.js';
import { connectOurs } from '../../../oracle/ours.js';
import type { DurableClient, DurableRuntime } from '../../../oracle/sdk.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../../../support/database.js';
import { waitFor } from '../../../support/waiting.js';

if (!nativeAvailable) console.log(`skipped: hand-over to native (${nativeUnavailableReason})`);
const describeNative = nativeAvailable ? describe : describe.skip;

/** What both runtimes run. */
function register(runtime: DurableRuntime): void {
  runtime.registerActivity('double', (_, input) => Number(input) * 2);
  runtime.registerOrchestration('finished', function* (ctx) {
    ctx.setValue('kept', 'from ours');
    yield ctx.scheduleTimer(1);
    return 'done before';
  });
  runtime.registerOrchestration('timer', function* (ctx) {
    ctx.setValue('color', 'green');
    ctx.setCustomStatus('sleeping');
    yield ctx.scheduleTimer(1_000);
    return ctx.getValue('color');
  });
  runtime.registerOrchestration('event', function* (ctx) {
    return yield ctx.waitForEvent('go');
  });
  runtime.registerOrchestration('parent', function* (ctx) {
    const answer = yield ctx.scheduleSubOrchestrationWithId('event', 'the-child');
    return { answer };
  });
  runtime.registerOrchestration('mailbox', function* (ctx) {
    const first = yield ctx.dequeueEvent('letters');
    const second = yield ctx.dequeueEvent('letters');
    return [first, second];
  });
  runtime.registerOrchestration('activity', function* (ctx, input) {
    return yield ctx.scheduleActivity('double', input);
  });
  runtime.registerOrchestration('rounds', function* (ctx, input) {
    const round = Number(input);
    if (round === 0) ctx.setValue('first', 'round 0');
    if (round === 1) yield ctx.waitForEvent('next');
    if (round < 2) yield ctx.continueAsNew(round + 1);
    return ctx.getValue('first');
  });
}

const instances = ['finished', 'timer', 'event', 'parent', 'mailbox', 'activity', 'rounds'] as const;
const input = { finished: null, timer: null, event: null, parent: null, mailbox: null, activity: 21, rounds: 0 };

/** Runs everything of ours as far as it goes without activities, and stops. */
async function fillOurs(schema: string): Promise<void> {
  const ours = await connectOurs(databaseUrl(), schema);
  const runtime = ours.runtime({ workerTagFilter: 'none' });
  register(runtime);
  await runtime.start();
  const client = ours.client();
  for (const name of instances) await client.startOrchestration(name, name, input[name]);
  await client.enqueueEvent('mailbox', 'letters', 'one');
  await client.waitForOrchestration('finished');
  const admin = ours.provider.asManagement();
  const waiting = { timer: 'TimerCreated', event: 'ExternalSubscribed', 'the-child': 'ExternalSubscribed',
    mailbox: 'ExternalSubscribedPersistent', activity: 'ActivityScheduled', rounds: 'ExternalSubscribed' } as const;
  for (const [instance, kind] of Object.entries(waiting)) {
    await waitFor(
      `${instance} waits`,
      async () => (await admin.readHistory(instance).catch(() => [])).map((event) => event.kind),
      // The mailbox waits for its second letter.
      (kinds) => kinds.at(-1) === kind && (instance !== 'mailbox' || kinds.length > 2),
    );
  }
  await runtime.shutdown(1_000);
  // What arrives while nobody works: a message, an event, and an instance that never ran.
  await client.enqueueEvent('mailbox', 'letters', 'two');
  await client.raiseEvent('rounds', 'next', null);
  await client.startOrchestration('fresh', 'activity', 4);
  await ours.close();
}

async function finishNatively(schema: string): Promise<Record<string, unknown>> {
  const native = await connectNative(databaseUrl(), schema);
  const runtime = native.runtime({ dispatcherPollIntervalMs: 10 });
  register(runtime);
  await runtime.start();
  const client: DurableClient = native.client();
  await client.raiseEvent('event', 'go', 'gone');
  await client.raiseEvent('the-child', 'go', 'grown');
  const outputs: Record<string, unknown> = {};
  for (const instance of [...instances, 'the-child', 'fresh']) {
    const { status, output } = await client.waitForOrchestration(instance, 20_000);
    outputs[instance] = status === 'Completed' ? output : status;
  }
  outputs['value'] = await client.getValue('finished', 'kept');
  await native.close();
  return outputs;
}

const everything = {
  finished: 'done before',
  timer: 'green',
  event: 'gone',
  parent: { answer: 'grown' },
  'the-child': 'grown',
  mailbox: ['one', 'two'],
  activity: 42,
  rounds: 'round 0',
  fresh: 8,
  value: 'from ours',
};

async function withDatabase(use: (db: ReturnType<typeof drizzle>, schema: string) => Promise<void>): Promise<void> {
  const schema = uniqueSchema('hand');
  const pool = new pg.Pool({ connectionString: databaseUrl(), max: 2 });
  try {
    await use(drizzle(pool), schema);
  } finally {
    await pool.end();
  }
  await dropSchema(schema);
}

describe('P:1.5 handing a schema of ours over to native', () => {
  (nativeAvailable ? test : test.skip)('native starts on it and finishes every instance', async () => {
    await withDatabase(async (db, schema) => {
      await fillOurs(schema);
      const { applied, status } = await handOverToNative(db, { schema });
      expect(applied).toEqual(['stored_functions', 'handed_over_to_native']);
      expect(status).toMatchObject({ origin: 'handedOver', nativeLevel: 23, refusal: undefined });
      expect(await finishNatively(schema)).toEqual(everything);
      expect((await handOverToNative(db, { schema })).applied).toEqual([]);
    });
  });

  (nativeAvailable ? test : test.skip)('ours goes on beside native, and installs nothing over it', async () => {
    await withDatabase(async (db, schema) => {
      await migrate(db, { schema });
      await handOverToNative(db, { schema });
      await connectNative(databaseUrl(), schema);
      expect(await migrate(db, { schema })).toMatchObject({ applied: [], status: { origin: 'handedOver' } });
      await expect(migrate(db, { schema, storedFunctions: true })).rejects.toMatchObject({ kind: 'occupied' });
      const ours = await connectOurs(databaseUrl(), schema);
      const runtime = ours.runtime();
      register(runtime);
      await runtime.start();
      await ours.client().startOrchestration('again', 'activity', 5);
      expect(await ours.client().waitForOrchestration('again')).toMatchObject({ status: 'Completed', output: 10 });
      expect(ours.provider.wakeUps().sharedWithNative).toBe(true);
      await ours.close();
    });
  });

  test.each([
    ['an instance', `insert into SCHEMA.instance_locks values ('i', 't', $1, 0)`],
    [
      'a message',
      `insert into SCHEMA.orchestrator_queue (instance_id, work_item, visible_at, created_at, lock_token, locked_until)
         values ('i', '{}', now(), now(), 't', $1)`,
    ],
    [
      'an activity',
      `insert into SCHEMA.worker_queue (work_item, visible_at, created_at, lock_token, locked_until)
         values ('{}', now(), now(), 't', $1)`,
    ],
    ['a session', `insert into SCHEMA.sessions values ('s', 'w', $1, 0)`],
  ])('refused while %s is locked; an expired lock does not count', async (_, sql) => {
    await withDatabase(async (db, schema) => {
      await migrate(db, { schema });
      await withClient((client) => client.query(sql.replace('SCHEMA', schema), [10_000]));
      await expect(handOverToNative(db, { schema, nowMs: 9_999 })).rejects.toMatchObject({
        kind: 'busy',
        message: expect.stringContaining('until 1970-01-01T00:00:10.000Z'),
      });
      expect((await migrate(db, { schema })).status).toMatchObject({ origin: 'ours', storedFunctions: 'none' });
      expect((await handOverToNative(db, { schema, nowMs: 10_000 })).status.origin).toBe('handedOver');
    });
  });

  test('refused where there is nothing of ours', async () => {
    await withDatabase(async (db, schema) => {
      await expect(handOverToNative(db, { schema })).rejects.toMatchObject({ kind: 'occupied' });
      if (!nativeAvailable) return;
      await connectNative(databaseUrl(), schema);
      await expect(handOverToNative(db, { schema })).rejects.toMatchObject({ kind: 'occupied' });
    });
  });
});

describeNative('P:1.5 the alternative: native makes its own functions', () => {
  test('the rename procedure of docs/native.md keeps data and ends in a schema of native’s', async () => {
    await withDatabase(async (db, schema) => {
      await fillOurs(schema);
      const run = (text: string) => withClient((client) => client.query(text.replaceAll('my_schema', schema)));
      const [before = '', after = ''] = await documentedSteps();
      await run(before);
      await connectNative(databaseUrl(), schema);
      await run(after);
      const { status } = await migrate(db, { schema });
      expect(status).toMatchObject({ origin: 'native', storedFunctions: 'native', refusal: undefined });
      const { rows } = await run('select last_updated_at_ms > 0 as is_kept from my_schema.kv_store');
      expect(rows).toEqual(expect.arrayContaining([{ is_kept: true }]));
      expect(await finishNatively(schema)).toEqual(everything);
    });
  });
});

/** The SQL of the procedure, as users read it. */
async function documentedSteps(): Promise<string[]> {
  const page = await readFile(new URL('../../../../docs/native.md', import.meta.url), 'utf8');
  const [, procedure = ''] = page.split("## With native's own functions instead");
  return [...procedure.matchAll(/```sql\n(.*?)```/gs)].slice(0, 2).map(([, statements = '']) => statements);
}

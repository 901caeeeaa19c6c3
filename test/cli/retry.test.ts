import { afterAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { OrchestrationContext } from '../../src/runtime/generator/orchestration-context.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { connectNative, nativeAvailable, nativeUnavailableReason } from '../oracle/native.js';
import { cli, cliJson } from '../support/cli.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';

type Steps = Generator<unknown, unknown, never>;

const schemas: string[] = [];
afterAll(async () => {
  for (const schema of schemas) await dropSchema(schema);
});

function freshSchema(): string {
  const schema = uniqueSchema('cli');
  schemas.push(schema);
  return schema;
}

/** Three activities in a row; the third one is broken until it is repaired. */
function* threeSteps(ctx: OrchestrationContext, order: string): Steps {
  const paid: string = yield ctx.scheduleActivity('Pay', order);
  const packed: string = yield ctx.scheduleActivity('Pack', paid);
  return yield ctx.scheduleActivity('Ship', packed);
}

interface Calls {
  readonly ran: string[];
  isBroken: boolean;
}

function activities({ ran, isBroken }: Calls) {
  const step = (name: string, text: string) => (_ctx: unknown, input: unknown) => {
    ran.push(name);
    return `${String(input)} ${text}`;
  };
  return {
    Pay: step('Pay', 'paid'),
    Pack: step('Pack', 'packed'),
    Ship: (ctx: unknown, input: unknown) => {
      if (!isBroken) return step('Ship', 'shipped')(ctx, input);
      ran.push('Ship');
      throw new Error('no truck');
    },
  };
}

/** Lets our runtime work until the instance has ended. */
async function runToEnd(provider: DrizzleProvider, instance: string, calls: Calls): Promise<void> {
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
  for (const [name, activity] of Object.entries(activities(calls))) runtime.registerActivity(name, activity);
  runtime.registerOrchestration('ThreeSteps', threeSteps);
  await runtime.start();
  await new Client(provider).waitForOrchestration(instance, 20_000);
  await runtime.shutdown();
}

async function failAtTheThird(provider: DrizzleProvider): Promise<void> {
  await new Client(provider).startOrchestration('order-1', 'ThreeSteps', 'order');
  await runToEnd(provider, 'order-1', { ran: [], isBroken: true });
}

describe('P:3.4.12 retry of an instance whose third activity failed', () => {
  test('history before the failure stays as it is, and only the failed activity runs again', async () => {
    const schema = freshSchema();
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    await failAtTheThird(provider);
    const before = await provider.read('order-1');
    const failure = before.findIndex(({ kind }) => kind === 'ActivityFailed');

    const dry = await cliJson(['retry', 'order-1', '--dry-run', '--schema', schema]);
    expect(dry).toMatchObject({
      toEventId: failure,
      eventsArchived: 2,
      step: expect.stringContaining('activity Ship') as unknown,
    });
    expect((await cli(['retry', 'order-1', '--schema', schema])).code).toBe(4);
    expect(await provider.read('order-1')).toEqual(before);

    const { code, stdout } = await cli(['retry', 'order-1', '--yes', '--schema', schema]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'order-1 runs again: 2 events archived, enqueued again: 1 activity\n',
    });
    expect(await provider.read('order-1')).toEqual(before.slice(0, failure));

    const calls = { ran: [] as string[], isBroken: false };
    await runToEnd(provider, 'order-1', calls);
    expect(calls.ran).toEqual(['Ship']);
    expect(await provider.asManagement().getInstanceInfo('order-1')).toMatchObject({
      status: 'Completed',
      output: '"order paid packed shipped"',
    });
    expect((await provider.read('order-1')).slice(0, failure)).toEqual(before.slice(0, failure));
    await provider.close();
  }, 60_000);

  const onNative = nativeAvailable ? test : test.skip;
  onNative(
    `a native runtime can finish it${nativeAvailable ? '' : `: ${nativeUnavailableReason}`}`,
    async () => {
      const schema = freshSchema();
      const native = await connectNative(databaseUrl(), schema);
      await cliJson(['migrate', '--adopt-tables', '--schema', schema]);
      const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
      await failAtTheThird(provider);
      await cliJson(['retry', 'order-1', '--yes', '--schema', schema]);
      await provider.close();

      const calls = { ran: [] as string[], isBroken: false };
      const runtime = native.runtime({ dispatcherPollIntervalMs: 10 });
      for (const [name, activity] of Object.entries(activities(calls))) runtime.registerActivity(name, activity);
      runtime.registerOrchestration('ThreeSteps', threeSteps as never);
      await runtime.start();
      const end = await native.client().waitForOrchestration('order-1', 20_000);
      await native.close();
      expect(end).toMatchObject({ status: 'Completed', output: 'order paid packed shipped' });
      expect(calls.ran).toEqual(['Ship']);
    },
    60_000,
  );

  onNative(
    `without our tables retry says how to get them, and everything that reads works${nativeAvailable ? '' : `: ${nativeUnavailableReason}`}`,
    async () => {
      const schema = freshSchema();
      await (await connectNative(databaseUrl(), schema)).close();
      const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
      await failAtTheThird(provider);
      const objects = () => objectsOf(schema);
      const before = await objects();
      const at = (...argv: string[]) => cli([...argv, '--schema', schema]);
      const refused = await at('retry', 'order-1', '--yes');
      expect(refused.code).toBe(6);
      expect(refused.stderr).toContain(`npx duroxide-drizzle migrate --schema ${schema} --adopt-tables`);
      expect((await at('workers')).code).toBe(6);
      for (const reading of [
        ['list'],
        ['list', '--status', 'Failed'],
        ['show', 'order-1'],
        ['stats', '--exact'],
        ['export', 'order-1'],
      ]) {
        expect(await at(...reading)).toMatchObject({ code: 0, stderr: '' });
      }
      expect((await at('doctor')).stdout).toMatch(
        /made by native duroxide, level 23[^]*missing: 0001_pages_workers_resets/,
      );
      expect((await at('watch', 'order-1')).code).toBe(7);
      expect(await objects()).toEqual(before);
      await provider.close();
    },
    60_000,
  );

  test('what cannot be retried is refused with the reason', async () => {
    const schema = freshSchema();
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    const at = (...argv: string[]) => cli([...argv, '--schema', schema]);
    await failAtTheThird(provider);
    await new Client(provider).startOrchestration('cancelled', 'ThreeSteps', 'order');
    await new Client(provider).cancelInstance('cancelled', 'enough');
    await runToEnd(provider, 'cancelled', { ran: [], isBroken: false });
    expect((await at('retry', 'nobody')).code).toBe(3);
    const cancelled = await at('retry', 'cancelled', '--yes');
    expect(cancelled.code).toBe(4);
    expect(cancelled.stderr).toContain('it was cancelled, no step of it failed');
    const beyond = await at('retry', 'order-1', '--to-event', '99', '--yes');
    expect(beyond.code).toBe(4);
    expect(beyond.stderr).toContain('event 99 is not in its current execution');
    expect((await at('retry', 'order-1', '--yes')).code).toBe(0);
    const again = await at('retry', 'order-1', '--yes');
    expect(again.code).toBe(4);
    expect(again.stderr).toContain('it is Running; only a failed instance can be retried');
    await provider.close();
  }, 60_000);

  test('many are retried by ids or by a filter; of ids all or none, and a filter tells what it leaves alone', async () => {
    const schema = freshSchema();
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
    const client = new Client(provider);
    const at = (...argv: string[]) => cli([...argv, '--schema', schema]);
    for (const id of ['order-2', 'order-3', 'cancelled']) await client.startOrchestration(id, 'ThreeSteps', 'order');
    await client.cancelInstance('cancelled', 'enough');
    await failAtTheThird(provider);
    for (const id of ['order-2', 'order-3', 'cancelled']) {
      if ((await client.getStatus(id)).status === 'Running') await runToEnd(provider, id, { ran: [], isBroken: true });
    }
    const statuses = async () => (await cliJson<StatusList>(['list', '--schema', schema])).instances;
    const running = async () =>
      (await statuses()).filter(({ status }) => status === 'Running').map((one) => one.instanceId);

    for (const [argv, problem] of [
      [[], 'no instances were given'],
      [['order-1', '--all'], 'both ids and filters were given'],
      [['order-1', 'order-2', '--to-event', '3'], '--to-event was given for many instances'],
      [['--all', '--wait'], '--wait was given for many instances'],
    ] as const) {
      const refused = await at('retry', ...argv);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) as unknown });
    }
    const unfit = await at('retry', 'order-1', 'cancelled', '--yes');
    expect(unfit.code).toBe(4);
    expect(unfit.stderr).toContain('"cancelled" cannot be retried: it was cancelled');
    expect((await at('retry', '--all')).code).toBe(4);
    expect((await at('retry', '--name', 'Other', '--yes')).stdout).toBe('nothing to retry\n');
    expect(await running()).toEqual([]);

    const ids = await at('retry', 'order-1', 'order-1', 'order-2', '--yes');
    expect(ids).toMatchObject({ code: 0, stdout: expect.stringContaining('retried 2 instances') as unknown });
    expect((await running()).sort()).toEqual(['order-1', 'order-2']);
    const rest = await cliJson<{ retried: unknown[]; skipped: unknown[] }>([
      'retry',
      '--name',
      'ThreeSteps',
      '--failed-since',
      '1h',
      '--yes',
      '--schema',
      schema,
    ]);
    expect(rest.retried).toMatchObject([{ instanceId: 'order-3' }]);
    expect(rest.skipped).toMatchObject([{ instanceId: 'cancelled', reason: 'it was cancelled, no step of it failed' }]);
    await provider.close();
  }, 60_000);
});

interface StatusList {
  readonly instances: readonly { readonly instanceId: string; readonly status: string }[];
}

/** Everything that stands in a schema, by kind and name. */
async function objectsOf(schema: string): Promise<unknown> {
  return withClient(async (client) => {
    const { rows } = await client.query(
      `select relkind::text as kind, relname as name from pg_class where relnamespace = $1::regnamespace
       union all select 'function', proname from pg_proc where pronamespace = $1::regnamespace order by 1, 2`,
      [schema],
    );
    return rows as unknown;
  });
}

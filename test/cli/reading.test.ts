import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { cli, cliJson } from '../support/cli.js';
import { databaseUrl, dropSchema, uniqueSchema, withClient } from '../support/database.js';
import type { OrchestrationContext } from '../../src/runtime/generator/orchestration-context.js';

type Steps = Generator<unknown, unknown, never>;

const schema = uniqueSchema('cli');
let provider: DrizzleProvider;

beforeAll(async () => {
  provider = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  const runtime = new Runtime(provider, { logger: silentLogger, logLevel: 'off' });
  runtime.registerActivity('Echo', (_ctx, input) => input);
  runtime.registerActivity('Break', () => {
    throw new Error('broken');
  });
  runtime.registerOrchestration('Parent', function* (ctx: OrchestrationContext, input: unknown): Steps {
    ctx.setCustomStatus('calling');
    ctx.setValue('seen', JSON.stringify(input));
    const answer: unknown = yield ctx.scheduleSubOrchestration('Child', input);
    return answer;
  });
  runtime.registerOrchestration('Child', function* (ctx: OrchestrationContext, input: unknown): Steps {
    return yield ctx.scheduleActivity('Echo', input);
  });
  runtime.registerOrchestration('Failing', function* (ctx: OrchestrationContext): Steps {
    return yield ctx.scheduleActivity('Break', null);
  });
  runtime.registerOrchestration('Waiting', function* (ctx: OrchestrationContext): Steps {
    return yield ctx.waitForEvent('go');
  });
  await runtime.start();
  const client = new Client(provider);
  await client.startOrchestration('parent-1', 'Parent', { secret: 'x'.repeat(300) });
  await client.startOrchestration("it's \u001b[31m\nodd", 'Failing');
  await client.startOrchestration('waiting-1', 'Waiting');
  await client.waitForOrchestration('parent-1');
  await client.waitForOrchestration("it's \u001b[31m\nodd");
  await client.startOrchestration('last', 'Child', 1);
  await client.waitForOrchestration('last');
  await runtime.shutdown();
}, 60_000);

afterAll(async () => {
  await provider.close();
  await dropSchema(schema);
});

const at = (...argv: string[]) => cli([...argv, '--schema', schema]);
const json = <T>(...argv: string[]) => cliJson<T>([...argv, '--schema', schema]);

interface Listed {
  readonly instances: readonly { readonly instanceId: string }[];
  readonly next: string | null;
}
const idsOf = ({ instances }: Listed) => instances.map(({ instanceId }) => instanceId);

describe('list', () => {
  test('shows instances in columns; ids of users cannot steer the terminal', async () => {
    const { code, stdout } = await at('list');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^INSTANCE +ORCHESTRATION +STATUS/);
    expect(stdout).toMatch(/parent-1 +Parent 1\.0\.0 +Completed .*calling/);
    expect(stdout).toContain("it's \\u001b[31m\\nodd");
    expect(stdout).not.toContain('\u001b');
  });

  test.each([
    [['--status', 'failed'], ["it's \u001b[31m\nodd"]],
    [['--status', 'Running'], ['waiting-1']],
    [['--name', 'Parent'], ['parent-1']],
    [['--prefix', 'wait'], ['waiting-1']],
    [['--parent', 'parent-1'], ['parent-1::sub::4']],
    [['--custom-status', 'cal'], ['parent-1']],
    [['--since', '2030-01-01', '--until', '2030-01-02'], []],
    [['--updated-until', '2020-01-01'], []],
    [['--updated-since', '1d', '--status', 'running'], ['waiting-1']],
  ])('selects by %j', async (options, expected) => {
    const ids = idsOf(await json<Listed>('list', ...options));
    expect(ids.map((id) => id.replace(/sub::\d+$/, 'sub::4'))).toEqual(expected);
  });

  test('pages follow one another by their cursor, in any page size', async () => {
    const all = idsOf(await json<Listed>('list', '--roots'));
    const seen: string[] = [];
    let after: string[] = [];
    do {
      const page: Listed = await json<Listed>('list', '--roots', '--limit', '1', ...after);
      seen.push(...idsOf(page));
      after = page.next === null ? [] : ['--after', page.next];
    } while (after.length > 0);
    expect(seen).toEqual(all);
    expect(all).toHaveLength(4);
    const lines = (await at('list', '--all', '--json')).stdout.trim().split('\n');
    expect(lines).toHaveLength(5);
  });
});

describe('show', () => {
  test('tells details, tree, key-values and history with readable events', async () => {
    const { stdout } = await at('show', 'parent-1');
    expect(stdout).toMatch(/parent-1 {2}Completed/);
    expect(stdout).toMatch(/└─ parent-1::sub::\d+ {2}Child {2}Completed/);
    expect(stdout).toMatch(/seen = /);
    expect(stdout).toMatch(/ActivityScheduled|SubOrchestrationScheduled {2}Child/);
    // Payloads are cut unless they are asked for.
    expect(stdout).not.toContain('x'.repeat(200));
    expect((await at('show', 'parent-1', '--full')).stdout).toContain('x'.repeat(300));
  });

  test('gives the stored events in JSON', async () => {
    const shown = await json<{ history: { events: { type: string }[] } }>('show', 'parent-1', '--events', '1');
    expect(shown).toMatchObject({ instance: { status: 'Completed' }, history: { executionId: 1 } });
    expect(shown.history.events.map(({ type }) => type)).toEqual(['OrchestrationCompleted']);
  });

  test('an unknown instance and an unknown execution are not found, by name', async () => {
    const nobody = await at('show', 'no body');
    expect(nobody).toMatchObject({ code: 3, stdout: '' });
    expect(nobody.stderr).toContain(`there is no instance "no body" in schema "${schema}"`);
    const execution = await at('show', 'parent-1', '--execution', '7');
    expect(execution.code).toBe(3);
    expect(execution.stderr).toContain('has no execution 7; expected one of 1');
  });
});

test('watch follows an instance to its end, and says by its exit code how it went', async () => {
  const done = await at('watch', 'parent-1');
  expect(done.code).toBe(0);
  expect(done.stdout).toMatch(/OrchestrationStarted[^]*OrchestrationCompleted[^]*Completed: /);
  const failed = await at('watch', "it's \u001b[31m\nodd", '--json');
  expect(failed.code).toBe(7);
  expect(JSON.parse(failed.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ type: 'end', status: 'Failed' });
  const waiting = await at('watch', 'waiting-1', '--timeout', '0s', '--no-history');
  expect(waiting.code).toBe(8);
  expect(waiting.stderr).toContain('instance "waiting-1" is Running still');
});

test('stats counts by status, queues and workers; workers tells them apart', async () => {
  expect(await json('stats', '--exact')).toMatchObject({
    instances: [{ status: 'Completed', count: 3, isEstimate: false }, { count: 1 }, { count: 1 }],
    runningWorkers: 0,
    queues: { orchestratorQueue: 0, isAtLeast: { orchestratorQueue: false }, oldestAtMs: { orchestratorQueue: null } },
    totals: { totalInstances: 5 },
  });
  expect((await at('stats')).stdout).toMatch(/Completed +3\n/);
  expect(await json('workers')).toMatchObject([{ state: 'stopped', pid: process.pid }]);
  expect((await at('workers')).stdout).toMatch(/RUNTIME.*\n.* stopped +0\/100 +0\/32/);
  expect(await json('workers', '--running')).toEqual([]);
});

test('stats stops counting what is due at 10,000, and estimates of instances, unless it is told to count all', async () => {
  const busy = uniqueSchema('cli');
  await (await DrizzleProvider.connect(databaseUrl(), { schema: busy, logger: silentLogger })).close();
  await withClient((client) =>
    client.query(`insert into ${busy}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
        select 'i-' || n, '{}', now() - interval '2 hours', now() from generate_series(1, 10200) n;
      insert into ${busy}.worker_queue (instance_id, execution_id, activity_id, work_item, visible_at, created_at)
        select 'i-' || n, 1, n, '{}', now() + interval '1 hour', now() from generate_series(1, 3) n;
      insert into ${busy}.instances (instance_id, orchestration_name, created_at, updated_at)
        select 'i-' || n, 'Many', now(), now() from generate_series(1, 10200) n;
      insert into ${busy}.executions (instance_id, execution_id, status, started_at)
        select 'i-' || n, 1, 'Completed', now() from generate_series(1, 10200) n;`),
  );
  const quick = await cli(['stats', '--schema', busy]);
  expect(quick.stdout).toMatch(/Completed +~10,\d+\n/);
  expect(quick.stdout).toMatch(/orchestrator +10,000 or more, the oldest for 2 h\n +worker +0\n/);
  const exact = await cli(['stats', '--exact', '--schema', busy]);
  expect(exact.stdout).toMatch(/Completed +10,200\n[^]*orchestrator +10,200, the oldest for 2 h\n/);
  expect(await cliJson(['stats', '--schema', busy])).toMatchObject({
    queues: { orchestratorQueue: 10_000, isAtLeast: { orchestratorQueue: true, workerQueue: false } },
  });
  await dropSchema(busy);
});

describe('doctor', () => {
  test('finds nothing wrong, also row by row', async () => {
    const { code, stdout } = await at('doctor', '--deep');
    expect(stdout).toMatch(/ok +schema: schema "\w+": made by this package/);
    expect(stdout).toMatch(/deep: nothing is lost, doubled or stuck \(5 instances/);
    expect(code).toBe(0);
  });

  test('names rows that were set aside, and what waits too long, with advice', async () => {
    const sick = uniqueSchema('cli');
    await (await DrizzleProvider.connect(databaseUrl(), { schema: sick, logger: silentLogger })).close();
    await withClient(async (client) => {
      await client.query(`insert into ${sick}.orchestrator_queue (instance_id, work_item, visible_at, created_at, attempt_count)
        values ('a', '{"CancelInstance":{"instance":"a","reason":""}}', now() - interval '1 hour', now(), 0),
          ('b', 'garbage', '9999-12-31', now(), 10)`);
      await client.query(`insert into ${sick}.instance_locks values ('c', 't', 1, 1)`);
      await client.query(`drop index ${sick}.ddz_orch_ready`);
    });
    const { code, stdout } = await cli(['doctor', '--schema', sick]);
    expect(code).toBe(7);
    expect(stdout).toMatch(/problem +orchestrator_queue: 2 rows, 1 due, the oldest for 1 h/);
    expect(stdout).toMatch(/problem +orchestrator_queue quarantine: 1 rows/);
    expect(stdout).toMatch(/warning +locks: 1 locks ended more than 5 minutes ago/);
    expect(stdout).toMatch(/warning +indexes: missing: ddz_orch_ready/);
    expect(stdout).toContain(`→ npx duroxide-drizzle migrate --schema ${sick}`);
    const answer = await cli(['doctor', '--deep', '--json', '--schema', sick]);
    expect(answer.code).toBe(7);
    const { ok, findings } = JSON.parse(answer.stdout) as { ok: boolean; findings: { check: string; text: string }[] };
    expect(ok).toBe(false);
    expect(findings.filter(({ check }) => check === 'quarantined').map(({ text }) => text)).toEqual([
      expect.stringMatching(/^orchestrator_queue, row \d+ of instance "b": set aside after 10 attempts$/),
    ]);
    await dropSchema(sick);
  });
});

describe('instances that no worker takes', () => {
  const waiting = uniqueSchema('cli');
  const start = (instance: string, orchestration: string, version: string | null, input = '1') =>
    JSON.stringify({
      StartOrchestration: {
        instance,
        orchestration,
        input,
        version,
        parent_instance: null,
        parent_id: null,
        execution_id: 1,
      },
    });
  beforeAll(async () => {
    await (await DrizzleProvider.connect(databaseUrl(), { schema: waiting, logger: silentLogger })).close();
    // An input that looks like the message around it; a name with a quote; a later message of the same instance.
    const tricky = '{"a":1,"orchestration":"Fake","version":"9.9.9"}';
    const messages = [
      ['unknown-1', start('unknown-1', 'Or"der', '2.0.0', tricky), '1 hour', 4],
      ['unknown-2', start('unknown-2', 'Or"der', '2.0.0'), '2 minutes', 2],
      ['untaken', start('untaken', 'Invoice', null), '3 minutes', 0],
      ['young', start('young', 'Invoice', null), '1 second', 0],
      ['newer', '{"ExternalRaised":{"instance":"newer","name":"go","data":"1"}}', '5 minutes', 0],
      ['worked-on', start('worked-on', 'Invoice', null), '5 minutes', 0],
      ['unreadable', 'garbage', '5 minutes', 3],
    ] as const;
    await withClient(async (client) => {
      for (const [instance, item, age, attempts] of messages) {
        await client.query(
          `insert into ${waiting}.orchestrator_queue (instance_id, work_item, visible_at, created_at, attempt_count)
            values ($1, $2, now() - $3::interval, now() - $3::interval, $4)`,
          [instance, item, age, attempts],
        );
      }
      await client.query(`
        insert into ${waiting}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
          values ('timer', '${start('timer', 'Sleeper', null)}', now() + interval '1 day', now() - interval '1 day');
        insert into ${waiting}.instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at)
          values ('newer', 'Report', '1.0.0', 1, now(), now());
        insert into ${waiting}.executions (instance_id, execution_id, status, started_at, duroxide_version_major, duroxide_version_minor, duroxide_version_patch)
          values ('newer', 1, 'Running', now(), 0, 2, 0);
        insert into ${waiting}.instance_locks values ('worked-on', 't', (extract(epoch from now()) * 1000)::bigint + 600000, 1)`);
    });
  });
  afterAll(() => dropSchema(waiting));

  /** A slow machine makes messages older by some. */
  const withoutSeconds = (line: string) => line.replace(/ \d+ s\b/, '');
  const linesOf = async () => {
    const { stdout } = await cli(['doctor', '--schema', waiting]);
    return stdout
      .split('\n')
      .flatMap((line, index, all) => (line.includes('orchestrations:') ? [withoutSeconds(line), all[index + 1]] : []));
  };

  test('doctor names their orchestrations and versions, and the likely reason', async () => {
    expect(await linesOf()).toEqual([
      'warning  orchestrations: 2 instances of orchestration "Or\\"der" 2.0.0 wait for a worker, the oldest message for 1 h; fetched and put off up to 4 times',
      expect.stringMatching(
        /→ register orchestration "Or\\"der" 2\.0\.0 in a worker: .*is not registered in this runtime.*ForeignAwaitError/,
      ),
      'warning  orchestrations: 1 instance of orchestration "Invoice" (latest version) waits for a worker, the oldest message for 3 min',
      expect.stringMatching(/→ no worker runs on this schema: start one that has orchestration "Invoice"/),
      'warning  orchestrations: 1 instance of orchestration "Report" 1.0.0 waits for a worker, the oldest message for 5 min',
      expect.stringMatching(/→ pinned to duroxide 0\.2\.0: workers of this package take up to 0\.1\.30/),
    ]);
    await withClient((client) =>
      client.query(`insert into ${waiting}.ddz_workers (runtime_id, host, pid, package_version, orchestration_slots_in_use,
          orchestration_slots, activity_slots_in_use, activity_slots, started_at, last_seen_ms, counters)
        values ('r', 'h', 1, '1', 0, 1, 0, 1, now(), (extract(epoch from now()) * 1000)::bigint, '{}')`),
    );
    expect(await linesOf()).toContainEqual(
      expect.stringMatching(/→ no worker has fetched it: .*version filter \(supportedReplayVersions\)/),
    );
  });

  test('show says it of one instance, also of one that has not begun', async () => {
    const unknown = await cli(['show', 'unknown-1', '--schema', waiting]);
    expect(unknown.code).toBe(3);
    expect(unknown.stderr).toContain(
      'instance "unknown-1" of orchestration "Or\\"der" 2.0.0 has not begun: a message waits',
    );
    expect(unknown.stderr).toContain('fetched and put off 4 times');
    const newer = await cli(['show', 'newer', '--schema', waiting]);
    expect(newer.code).toBe(0);
    expect(newer.stdout).toMatch(
      /waiting +a message waits for a worker for 5 min( \d+ s)?\n +→ pinned to duroxide 0\.2\.0/,
    );
    expect(await cliJson(['show', 'newer', '--schema', waiting])).toMatchObject({
      waiting: { orchestration: 'Report', version: '1.0.0', attempts: 0, pinned: { major: 0, minor: 2, patch: 0 } },
    });
    expect((await cli(['show', 'nobody', '--schema', waiting])).stderr).toContain('there is no instance "nobody"');
    expect(await json('show', 'waiting-1')).toMatchObject({ waiting: null });
  });
});

test('colours only on a terminal, and not where NO_COLOR or --no-color says so', async () => {
  const list = ['list', '--schema', schema];
  expect((await cli(list, { tty: true })).stdout).toContain('\u001b[');
  expect((await cli(list)).stdout).not.toContain('\u001b[');
  expect((await cli(list, { tty: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\u001b[');
  expect((await cli([...list, '--no-color'], { tty: true })).stdout).not.toContain('\u001b[');
  expect((await cli(list, { tty: true, env: { TERM: 'dumb' } })).stdout).not.toContain('\u001b[');
});

test('export gives a history that replay accepts, and refuses to overwrite a file', async () => {
  const { code, stdout } = await at('export', 'parent-1');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    instance: 'parent-1',
    executionId: 1,
    events: [{ type: 'OrchestrationStarted' }, {}, {}, {}, {}, {}],
  });
  const all = await json<{ executions: unknown[] }>('export', 'parent-1', '--all-executions');
  expect(all.executions).toHaveLength(1);
});

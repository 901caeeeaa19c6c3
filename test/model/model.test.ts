import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import type { ProviderContext } from '../../src/provider/drizzle/context.js';
import { createContext } from '../../src/provider/drizzle/create-context.js';
import { driverFor } from '../../src/provider/drizzle/drivers/index.js';
import type { Driver } from '../../src/provider/drizzle/executor.js';
import { migrateSchema } from '../../src/provider/drizzle/migrate/index.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { stateQueries } from './database-state.js';
import { explore, type Step } from './explore.js';
import {
  applyInstanceAction,
  type InstanceAction,
  instanceModel,
  type InstanceState,
  type Sabotage,
} from './instance-model.js';
import { InstanceRows, visibleInstance } from './instance-rows.js';
import { everyInterleaving, type Participant } from './interleavings.js';
import { type Rewrite, SteppedDriver } from './stepped-driver.js';
import { workModel, type WorkSabotage } from './work-model.js';
import { visibleWork, WorkRows } from './work-rows.js';

/** `npm run test:model`: everything. Otherwise what a minute allows. */
const WHOLE = process.env['MODEL_CHECK'] === 'whole';

/** For `docs/model-check.md`. */
function report(what: string, figures: object): void {
  if (WHOLE) console.log(what, JSON.stringify(figures));
}

describe('the protocol as a model: every state that can be reached', () => {
  const sizes = [
    { workers: 2, items: 2, instance: 132, work: 597 },
    { workers: 3, items: 2, instance: 474, work: 2745 },
    ...(WHOLE ? [{ workers: 3, items: 3, instance: 1909, work: 41_971 }] : []),
  ];

  test.each(sizes)('C-04 C-05 turns: $workers workers, $items messages', ({ workers, items, instance }) => {
    const { counterexample, states, transitions, depth } = explore(instanceModel({ workers, messages: items }));
    report('turns', { workers, items, states, transitions, depth });
    expect(counterexample).toBeUndefined();
    expect(states).toBe(instance);
  });

  test.each(sizes)('C-04 C-05 activities: $workers workers, $items activities', ({ workers, items, work }) => {
    const { counterexample, states, transitions, depth } = explore(workModel({ workers, rows: items }));
    report('activities', { workers, items, states, transitions, depth });
    expect(counterexample).toBeUndefined();
    expect(states).toBe(work);
  });

  test.each<{ sabotage: Sabotage; problem: string }>([
    { sabotage: 'ack without fence', problem: 'a committed turn consumed other messages than it was given' },
    { sabotage: 'fetch takes live locks', problem: 'two workers count on a lock of one instance' },
    { sabotage: 'renewal revives', problem: 'two workers count on a lock of one instance' },
    { sabotage: 'ack consumes everything', problem: 'a committed turn consumed other messages than it was given' },
  ])('turns, $sabotage: is found', ({ sabotage, problem }) => {
    const { counterexample } = explore(instanceModel({ workers: 2, messages: 2, sabotage }));
    expect(counterexample).toMatchObject({ problem });
  });

  test.each<{ sabotage: WorkSabotage; problem: string }>([
    { sabotage: 'ack without expiry', problem: 'a fence was passed with a lost lock' },
    { sabotage: 'fetch takes live locks', problem: 'two workers count on the lock of one activity' },
    { sabotage: 'renewal revives', problem: 'two workers count on the lock of one activity' },
  ])('activities, $sabotage: is found', ({ sabotage, problem }) => {
    const { counterexample } = explore(workModel({ workers: 2, rows: 2, sabotage }));
    expect(counterexample).toMatchObject({ problem });
  });
});

const schema = uniqueSchema('model');
const clock = new FakeClock();
let admin: pg.Client;
let opened: pg.Pool[] = [];

beforeAll(async () => {
  admin = new pg.Client({ connectionString: databaseUrl() });
  await admin.connect();
  await migrateSchema(openDriver().driver, { schema });
});
afterAll(async () => {
  await Promise.all(opened.map((pool) => pool.end()));
  await admin.end();
  await dropSchema(schema);
});

/** With one connection, so that its server process is known. */
function openDriver(): { readonly driver: Driver; readonly pool: pg.Pool } {
  // A deadlock is a failure of the test: found soon. One plan for all runs, because plans differ in the order of their locks.
  const pool = new pg.Pool({
    connectionString: databaseUrl(),
    max: 1,
    idleTimeoutMillis: 0,
    options: '-c deadlock_timeout=50ms -c plan_cache_mode=force_generic_plan',
  });
  opened = [...opened, pool];
  return { driver: driverFor(drizzle(pool), { logger: silentLogger }), pool };
}

/** Without chance, so that equal runs are equal. */
const contextOn = (driver: Driver): ProviderContext =>
  createContext(driver, { schema, clock, logger: silentLogger, random: () => 0 });

describe('the real operations do what the model says, from every state that can be reached', () => {
  const size = { workers: WHOLE ? 3 : 2, items: 2 };

  test('turns', async () => {
    const { steps } = explore(instanceModel({ workers: size.workers, messages: size.items }), { keepSteps: true });
    const rows = new InstanceRows(admin, schema, clock);
    const ctx = contextOn(openDriver().driver);
    let compared = 0;
    for (const { from, action, to, answer } of withoutMemory(steps).filter((_, index) => WHOLE || index % 4 === 0)) {
      await rows.place(from);
      const real = await rows.perform(ctx, action);
      const seen = { answer: real, rows: await rows.visible(to) };
      expect({ from, action, ...seen }).toEqual({ from, action, answer, rows: visibleInstance(to) });
      compared += 1;
    }
    report('turns: transitions compared', { ...size, compared });
    expect(compared).toBeGreaterThan(150);
  });

  test('activities', async () => {
    const { steps } = explore(workModel({ workers: size.workers, rows: size.items }), { keepSteps: true });
    const rows = new WorkRows(admin, schema, clock);
    const ctx = contextOn(openDriver().driver);
    let compared = 0;
    for (const { from, action, to, answer } of withoutMemory(steps).filter((_, index) => WHOLE || index % 20 === 0)) {
      await rows.place(from);
      const real = await rows.perform(ctx, action);
      const seen = { answer: real, rows: await rows.visible(to) };
      expect({ from, action, ...seen }).toEqual({ from, action, answer, rows: visibleWork(to) });
      compared += 1;
    }
    report('activities: transitions compared', { ...size, compared });
    expect(compared).toBeGreaterThan(150);
  });

  /** A crash is what a worker forgets: nothing of it is in the database. */
  function withoutMemory<S, A extends { readonly do: string }>(steps: readonly Step<S, A>[]): Step<S, A>[] {
    return steps.filter(({ action }) => action.do !== 'crash');
  }
});

interface Scene {
  readonly what: string;
  readonly from: InstanceState;
  readonly actions: readonly InstanceAction[];
  /** Left out of the short form: too long for it. */
  readonly whole?: boolean;
}

const waiting = { is: 'waiting' } as const;
const free: InstanceState = { lock: null, messages: [waiting, { is: 'later' }], workers: [null, null, null] };
const held = (left: number): InstanceState => ({
  lock: { by: 0, left },
  messages: [{ is: 'waiting', by: 0, left }, { is: 'later' }],
  workers: [{ given: [0], left, stale: false }, null, null],
});
const act = (what: 'fetch' | 'ack' | 'renew' | 'abandon', worker: number): InstanceAction => ({ do: what, worker });
const send: InstanceAction = { do: 'send', message: 1 };
const direct = (activity: number): InstanceAction => ({ do: 'direct', activity });
const empty: InstanceState = { ...free, messages: [{ is: 'done' }, { is: 'later' }], turns: 0 };

const scenes: readonly Scene[] = [
  { what: 'two fetch', from: free, actions: [act('fetch', 0), act('fetch', 1)] },
  {
    what: 'two fetch, and a message comes',
    from: free,
    actions: [act('fetch', 0), act('fetch', 1), send],
    whole: true,
  },
  { what: 'three fetch', from: free, actions: [act('fetch', 0), act('fetch', 1), act('fetch', 2)], whole: true },
  {
    what: 'a turn ends while another worker looks',
    from: held(2),
    actions: [act('ack', 0), act('fetch', 1)],
  },
  { what: 'a turn ends too late while another worker looks', from: held(0), actions: [act('ack', 0), act('fetch', 1)] },
  {
    what: 'a lock is renewed too late while another worker looks',
    from: held(0),
    actions: [act('renew', 0), act('fetch', 1)],
  },
  {
    what: 'a late turn is given back while another worker looks',
    from: held(0),
    actions: [act('abandon', 0), act('fetch', 1)],
  },
  { what: 'renewed while its turn ends', from: held(2), actions: [act('ack', 0), act('renew', 0)] },
  { what: 'given back while its turn ends', from: held(2), actions: [act('ack', 0), act('abandon', 0)] },
  { what: 'acknowledged twice at once', from: held(2), actions: [act('ack', 0), act('ack', 0)] },
  { what: 'a message comes while a turn ends', from: held(2), actions: [act('ack', 0), send] },
  { what: 'two direct turns', from: empty, actions: [direct(2), direct(3)] },
  { what: 'a direct turn, and a message comes', from: empty, actions: [direct(2), send] },
  {
    what: 'a direct turn while another worker looks',
    from: { ...free, turns: 0 },
    actions: [direct(2), act('fetch', 1)],
  },
  { what: 'a direct turn while a turn ends', from: { ...held(2), turns: 0 }, actions: [direct(2), act('ack', 0)] },
  {
    what: 'a direct turn while a turn without messages ends',
    from: { ...empty, lock: { by: 0, left: 2 }, workers: [{ given: [], left: 2, stale: false }, null, null] },
    actions: [direct(2), act('ack', 0)],
  },
  {
    what: 'a direct turn while a turn is given back',
    from: { ...held(0), turns: 0 },
    actions: [direct(2), act('abandon', 0)],
  },
  {
    what: 'a direct turn, a message comes, and another worker looks',
    from: empty,
    actions: [direct(2), send, act('fetch', 1)],
    whole: true,
  },
  {
    what: 'a direct turn, a late end and a look',
    from: { ...held(0), turns: 0 },
    actions: [direct(2), act('ack', 0), act('fetch', 1)],
    whole: true,
  },
  {
    what: 'ends, is renewed and looked for',
    from: held(2),
    actions: [act('ack', 0), act('renew', 0), act('fetch', 1)],
    whole: true,
  },
  {
    what: 'late end, late renewal and a look',
    from: held(0),
    actions: [act('ack', 0), act('renew', 0), act('fetch', 1)],
    whole: true,
  },
  {
    what: 'given back, and two look',
    from: held(0),
    actions: [act('abandon', 0), act('fetch', 1), act('fetch', 2)],
    whole: true,
  },
  {
    what: 'late end, and two look',
    from: held(0),
    actions: [act('ack', 0), act('fetch', 1), act('fetch', 2)],
    whole: true,
  },
];

function isTurn(action: InstanceAction | undefined): boolean {
  return action?.do === 'ack' || action?.do === 'direct';
}

function sceneOf(name: string): Scene {
  const scene = scenes.find(({ what }) => what === name);
  if (!scene) throw new Error(`no scene '${name}'`);
  return scene;
}

describe('every interleaving of the statements of real operations has the outcome of some order of the operations', () => {
  /** Answers and rows after the operations, one after the other, in each order. */
  function sequentialOutcomes({ from, actions }: Scene, left: ReadonlySet<number>): Set<string> {
    const outcomes = new Set<string>();
    const go = (state: InstanceState, answers: readonly (string | undefined)[]): void => {
      const open = actions.flatMap((_, index) => (answers[index] === undefined ? [index] : []));
      if (open.length === 0) outcomes.add(JSON.stringify({ answers, rows: visibleInstance(state) }));
      for (const index of open) {
        const next = left.has(index)
          ? { state, answer: 'busy' }
          : applyInstanceAction(state, actions[index] as InstanceAction);
        go(
          next.state,
          answers.map((old, at) => (at === index ? next.answer : old)),
        );
      }
    };
    go(
      from,
      actions.map(() => undefined),
    );
    return outcomes;
  }

  interface Checked {
    readonly runs: number;
    /** What was wrong with the first end that was not right. */
    readonly wrong: string | undefined;
    readonly outcomes: ReadonlySet<string>;
  }

  async function check(
    scene: Scene,
    { rewrite, tellsApart = true }: { rewrite?: Rewrite; tellsApart?: boolean } = {},
  ): Promise<Checked> {
    const rows = new InstanceRows(admin, schema, clock);
    const workers = await Promise.all(
      scene.actions.map(async (action): Promise<Participant & { readonly pool: pg.Pool }> => {
        const { driver, pool } = openDriver();
        const client = await pool.connect();
        const { rows: own } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
        client.release();
        const stepped = new SteppedDriver(driver, rewrite);
        const ctx = contextOn(stepped.driver);
        return { stepped, client, pid: own[0]?.pid ?? 0, start: () => rows.perform(ctx, action), pool };
      }),
    );
    const outcomes = new Set<string>();
    let wrong: string | undefined;
    const figures = await everyInterleaving({
      admin,
      queries: tellsApart ? await stateQueries(admin, schema) : undefined,

      prepare: async () => {
        await rows.place(scene.from);
        return workers;
      },
      check: async ({ answers, schedule, deadlocks }) => {
        // `lost is not empty`: a fetch may say that what it saw went to somebody else at this moment.
        const busy = new Set(answers.flatMap((answer, index) => (answer === 'busy' ? [index] : [])));
        const after = stateAfter(scene, answers);
        const outcome = JSON.stringify({ answers, rows: await rows.visible(after) });
        const turns = answers.filter((answer, index) => answer === 'ok' && isTurn(scene.actions[index])).length;
        outcomes.add(outcome);
        if (!sequentialOutcomes(scene, busy).has(outcome)) wrong = `${schedule.join()}: ${outcome}`;
        else if ((await rows.turns()) !== turns) wrong = `${schedule.join()}: a refused turn is in history`;
        else if (deadlocks > 0) wrong = `${schedule.join()}: a deadlock`;
        return wrong === undefined ? 'go on' : 'stop';
      },
    });
    for (const { pool } of workers) await pool.end();
    opened = opened.filter((pool) => !workers.some((worker) => worker.pool === pool));
    report(`interleavings: ${scene.what}`, figures);
    return { runs: figures.runs, wrong, outcomes };
  }

  /** Who still knows a token: whoever fetched, and whoever was told that its lock lives. */
  function stateAfter({ from, actions }: Scene, answers: readonly string[]): InstanceState {
    const workers = from.workers.map((worker, index) => {
      const own = actions.flatMap((action, at) =>
        'worker' in action && action.worker === index ? [{ what: action.do, answer: answers[at] ?? '' }] : [],
      );
      if (own.some(({ what, answer }) => what === 'fetch' && answer.startsWith('messages')))
        return { given: [], left: 0, stale: false };
      const forgets = own.some(({ what, answer }) => answer === 'lost' || (what !== 'renew' && answer === 'ok'));
      return forgets ? null : worker;
    });
    const isSent = actions.some(({ do: what }) => what === 'send');
    return {
      ...from,
      workers,
      messages: from.messages.map((message, index) => (index === 1 && isSent ? waiting : message)),
    };
  }

  test.each(scenes.filter(({ whole }) => WHOLE || whole !== true))('C-01 C-04 $what', async (scene) => {
    const { runs, wrong } = await check(scene);
    expect(wrong).toBeUndefined();
    expect(runs).toBeGreaterThan(1);
  });

  const small = [
    'a lock is renewed too late while another worker looks',
    ...(WHOLE
      ? [
          'two fetch',
          'a late turn is given back while another worker looks',
          'a turn ends too late while another worker looks',
          'given back while its turn ends',
        ]
      : []),
  ];

  test.each(small)('to tell states apart loses no outcome: %s', async (name) => {
    const scene = sceneOf(name);
    const [all, told] = [await check(scene, { tellsApart: false }), await check(scene)];
    expect(told.runs).toBeLessThanOrEqual(all.runs);
    expect(told.outcomes).toEqual(all.outcomes);
  });

  const sabotaged = [
    {
      whole: false,
      what: 'an acknowledgement that does not look at the end of its lock',
      scene: 'a turn ends too late while another worker looks',
      rewrite: (text: string) => text.replace(/(?<![\w.])(?:l\.)?locked_until > (\$\d+)/g, '0 <= $1::bigint'),
    },
    {
      whole: false,
      what: 'an acknowledgement that does not lock the lock',
      scene: 'given back while its turn ends',
      rewrite: (text: string) => text.replace(/ for update of l/i, ''),
    },
    {
      whole: false,
      what: 'a direct turn that does not look at locks',
      scene: 'a direct turn while a turn without messages ends',
      rewrite: (text: string) =>
        text.replace(/not exists \(select 1 from \S+instance_locks\S* l where [^)]*\)/i, 'true'),
    },
    {
      whole: false,
      what: 'a direct turn without the key',
      scene: 'two direct turns',
      rewrite: (text: string) => text.replace(/pg_try_advisory_xact_lock\(hashtext\(u\.instance_id\)\)/i, 'true'),
    },
    {
      // Some hundred orders come before the one that shows it.
      whole: true,
      what: 'a claim without the fence',
      scene: 'two fetch, and a message comes',
      rewrite: (text: string) => text.replace(/where l\.locked_until <= (\$\d+)/i, 'where 0 <= $1::bigint'),
    },
  ].filter(({ whole }) => WHOLE || !whole);

  test.each(sabotaged)('a store that is broken on purpose is found out: $what', async ({ scene: name, rewrite }) => {
    expect((await check(sceneOf(name), { rewrite })).wrong).toBeDefined();
  });
});

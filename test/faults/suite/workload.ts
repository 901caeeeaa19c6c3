import { appendFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import type { ActivityContext, ActivityFunction, GeneratorOrchestration, Runtime } from '../../../src/index.js';
import { activity, orchestration } from '../../../src/index.js';
import { breaks, deedOrchestrations } from './deeds/orchestrations.js';

/** What an instance of the load is expected to do, whatever happens to its workers. */
export interface Expectation {
  readonly id: string;
  readonly kind: Kind;
  /** JSON of the output; absent: any. */
  readonly output?: unknown;
  /** Part of the error of an instance that has to fail. */
  readonly failure?: string;
  /** Side effects that must have happened, each at least once. */
  readonly effects: readonly string[];
  /** Rows that a transactional activity must have written, each exactly once. */
  readonly rows: readonly string[];
  /** Instances that it starts on its own. */
  readonly others: readonly string[];
}

export const KINDS = [
  'chain',
  'fan',
  'retry',
  'timers',
  'event',
  'mailbox',
  'children',
  'rounds',
  'session',
  'race',
  'detached',
  'ledger',
  'cancelled',
  'failing',
  'typed',
] as const;
export type Kind = (typeof KINDS)[number];

/** The messages that an instance of kind `mailbox` wants to see, in any order and number. */
export const MAIL = ['a', 'b', 'c'] as const;

const PAUSE_MS = 60;

/** Notes a side effect where a killed process cannot lose it: in a file, before the activity returns. */
export type NoteEffect = (effect: string) => void;

export function effectsFile(file: string): NoteEffect {
  return (effect) => appendFileSync(file, `${effect}\n`);
}

// Drop-in orchestrations are written without types.
type Loose = any;

export const orchestrations: Readonly<Record<string, (ctx: Loose, input: Loose) => Generator<Loose, Loose, Loose>>> = {
  *chain(ctx, id) {
    let sum = 0;
    for (let step = 1; step <= 4; step++)
      sum += yield ctx.scheduleActivity('count', { key: `${id}/${step}`, value: step });
    return sum;
  },
  *fan(ctx, id) {
    const tasks = Array.from({ length: 6 }, (_, n) => ctx.scheduleActivity('count', { key: `${id}/${n}`, value: n }));
    const results = yield ctx.all(tasks);
    return results.map((result: { ok: number }) => result.ok);
  },
  *retry(ctx, id) {
    return yield ctx.scheduleActivityWithRetry('flaky', { key: `${id}/flaky` }, { maxAttempts: 60, backoff: 'linear' });
  },
  *timers(ctx, id) {
    for (let n = 1; n <= 3; n++) {
      yield ctx.scheduleTimer(PAUSE_MS * n);
      yield ctx.scheduleActivity('count', { key: `${id}/${n}`, value: n });
    }
    return 'rang';
  },
  *event(ctx, id) {
    const data = yield ctx.waitForEvent('go');
    yield ctx.scheduleActivity('count', { key: `${id}/got`, value: 1 });
    return data;
  },
  *mailbox(ctx) {
    const seen = new Set<string>();
    while (seen.size < MAIL.length) seen.add(yield ctx.dequeueEvent('mail'));
    return [...seen].sort();
  },
  *children(ctx, id) {
    const children = [1, 2, 3].map((n) => ctx.scheduleSubOrchestration('child', `${id}/${n}`));
    const results = yield ctx.all(children);
    return results.map((result: { ok: string }) => result.ok);
  },
  *child(ctx, key) {
    yield ctx.scheduleActivity('count', { key, value: 1 });
    yield ctx.scheduleTimer(PAUSE_MS);
    return key;
  },
  *rounds(ctx, { id, round }) {
    ctx.setCustomStatus(`round ${round}`);
    const before = Number(ctx.getValue('total') ?? 0);
    ctx.setValue(
      'total',
      String(before + (yield ctx.scheduleActivity('count', { key: `${id}/${round}`, value: round }))),
    );
    if (round < 4) return yield ctx.continueAsNew({ id, round: round + 1 });
    return Number(ctx.getValue('total'));
  },
  *session(ctx, id) {
    let sum = 0;
    for (let n = 1; n <= 3; n++) {
      sum += yield ctx.scheduleActivityOnSession('count', { key: `${id}/${n}`, value: n }, `session-${id}`);
    }
    return sum;
  },
  *race(ctx, id) {
    const { index } = yield ctx.race(
      ctx.scheduleActivity('count', { key: `${id}/race`, value: 1 }),
      ctx.scheduleTimer(PAUSE_MS),
    );
    yield ctx.scheduleTimer(PAUSE_MS);
    return index === 0 || index === 1;
  },
  *detached(ctx, id) {
    yield ctx.startOrchestration('child', `${id}-other`, `${id}-other/1`);
    return 'started';
  },
  *cancelled(ctx) {
    yield ctx.waitForEvent('never');
  },
  *failing(ctx, id) {
    try {
      yield ctx.scheduleActivity('fail', { key: `${id}/fail` });
    } catch {
      return 'caught';
    }
    return 'not caught';
  },
};

export function activities(
  note: NoteEffect,
): Readonly<Record<string, (ctx: ActivityContext, input: Loose) => unknown>> {
  return {
    count: async (_ctx, { key, value }) => {
      note(key);
      // Long enough that a fault may meet it while it runs.
      await new Promise((resolve) => setTimeout(resolve, 3));
      return value;
    },
    flaky: (_ctx, { key }) => {
      note(key);
      if (Math.random() < 0.5) throw new Error('flaky on purpose');
      return 'in the end';
    },
    fail: (_ctx, { key }) => {
      note(key);
      throw new Error('failing on purpose');
    },
  };
}

type AnyTx = PgDatabase<PgQueryResultHKT>;

/** The typed part of the load: an async orchestration, and an activity in a transaction of the application's. */
export function typedDefinitions(ledgerTable: string) {
  const enter = activity.transactional('enter', async (_ctx, tx: AnyTx, key: string) => {
    await tx.execute(sql`insert into ${sql.raw(ledgerTable)} (key) values (${key})`);
    return key;
  });
  const ledger = orchestration('ledger', async (ctx, id: string) => {
    const entered: string[] = [];
    for (const n of [1, 2]) entered.push(await ctx.call(enter, `${id}/${n}`));
    return entered;
  });
  const note = activity('note', async (_ctx, key: string) => key);
  const typed = orchestration('typed', async (ctx, id: string) => {
    const first = await ctx.call(note, `${id}/1`);
    await ctx.sleep(PAUSE_MS);
    const rest = await Promise.all([ctx.call(note, `${id}/2`), ctx.call(note, `${id}/3`)]);
    return [first, ...rest];
  });
  // What a schedule starts: it does its work under its own name, once.
  const tick = orchestration('tick', async (ctx) => ctx.call(enter, ctx.instanceId));
  return [enter, ledger, note, typed, tick];
}

export interface WorkloadOptions {
  readonly note: NoteEffect;
  readonly ledgerTable: string;
  /** Where a file says that what failed may go on. */
  readonly repairs: string;
}

export function registerWorkload(runtime: Runtime, { note, ledgerTable, repairs }: WorkloadOptions): void {
  runtime.registerActivity('breaks', breaks(note, repairs) as ActivityFunction);
  for (const [name, fn] of Object.entries({ ...orchestrations, ...deedOrchestrations })) {
    runtime.registerOrchestration(name, fn as GeneratorOrchestration);
  }
  for (const [name, fn] of Object.entries(activities(note))) runtime.registerActivity(name, fn as ActivityFunction);
  runtime.register(...typedDefinitions(ledgerTable));
}

/** The input that an instance of a kind is started with. */
export function inputOf(kind: Kind, id: string): unknown {
  return kind === 'rounds' ? { id, round: 1 } : id;
}

export function expectationOf(kind: Kind, id: string): Expectation {
  const base = { id, kind, effects: [], rows: [], others: [] };
  const numbered = (count: number, from = 1) => Array.from({ length: count }, (_, n) => `${id}/${n + from}`);
  switch (kind) {
    case 'chain':
      return { ...base, output: 10, effects: numbered(4) };
    case 'fan':
      return { ...base, output: [0, 1, 2, 3, 4, 5], effects: numbered(6, 0) };
    case 'retry':
      return { ...base, output: 'in the end', effects: [`${id}/flaky`] };
    case 'timers':
      return { ...base, output: 'rang', effects: numbered(3) };
    case 'event':
      return { ...base, output: `for ${id}`, effects: [`${id}/got`] };
    case 'mailbox':
      return { ...base, output: [...MAIL] };
    case 'children':
      return { ...base, output: numbered(3), effects: numbered(3) };
    case 'rounds':
      return { ...base, output: 10, effects: numbered(4) };
    case 'session':
      return { ...base, output: 6, effects: numbered(3) };
    case 'race':
      return { ...base, output: true };
    case 'detached':
      return { ...base, output: 'started', effects: [`${id}-other/1`], others: [`${id}-other`] };
    case 'ledger':
      return { ...base, output: numbered(2), rows: numbered(2) };
    case 'cancelled':
      return { ...base, failure: 'canceled: enough' };
    case 'failing':
      return { ...base, output: 'caught', effects: [`${id}/fail`] };
    case 'typed':
      return { ...base, output: numbered(3) };
  }
}

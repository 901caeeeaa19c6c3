import { describe, expect, test } from '@jest/globals';
import {
  activity,
  Client,
  orchestration,
  type Registrable,
  Runtime,
  silentLogger,
  SystemClock,
  type TypedOrchestrationContext,
} from '../../src/index.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { AsyncHost } from '../../src/runtime/async/async-host.js';
import { REGISTRATION } from '../../src/runtime/registrable.js';
import { createExecution } from '../../src/runtime/replay/execution.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { seededRandom } from '../support/seeded-random.js';

/** The long form is a matter of the matrix; each run is replayed after it has ended. */
const RUNS = Number(process.env['DDZ_ASYNC_RUNS'] ?? 100);
/** Runs that share a store and a runtime. */
const GROUP = 25;
const SEED = Number(process.env['DDZ_SEED'] ?? Date.now() % 1_000_000);

/** Ends after as long as the run's own generator says, so completions come in any order and grouping. */
const work = activity('work', async (_ctx, { turns, fails }: { turns: number; fails: boolean }) => {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
  if (fails) throw new Error('as planned');
  return turns;
});
const child = orchestration('child', async (ctx, turns: number) => ctx.call(work, { turns, fails: false }));

/** A program that a seed describes: the same decisions whenever it runs, whatever comes back in which order. */
const program = orchestration('program', async (ctx, seed: number): Promise<unknown> => {
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  const seen: unknown[] = [];
  for (let steps = 2 + pick(4); steps > 0; steps--) seen.push(await step(ctx, pick, 2));
  return seen;
});

async function step(ctx: TypedOrchestrationContext, pick: (n: number) => number, depth: number): Promise<unknown> {
  const leaf = (): Promise<unknown> => {
    switch (pick(7)) {
      case 0:
        return ctx.sleep(pick(8));
      case 1:
        return ctx.call(child, pick(5));
      case 2:
        return ctx.now().then(() => 'now');
      case 3:
        return ctx.race([ctx.dequeue('box'), ctx.sleep(20)]);
      case 4:
        return ctx.call(work, { turns: pick(6), fails: true }).catch(() => 'failed');
      case 5:
        return ctx
          .call(
            work,
            { turns: pick(4), fails: true },
            { retry: { maxAttempts: 2, backoff: { kind: 'fixed', delayMs: 1 } } },
          )
          .catch((error: Error) => error.name);
      default:
        return ctx.call(work, { turns: pick(12), fails: false });
    }
  };
  const several = () =>
    Array.from({ length: 2 + pick(3) }, () => (depth > 0 && pick(3) === 0 ? step(ctx, pick, depth - 1) : leaf()));
  switch (pick(8)) {
    case 0:
      return Promise.all(several());
    case 1:
      return Promise.race(several());
    case 2:
      return (await Promise.allSettled(several())).map(({ status }) => status);
    case 3:
      return ctx.race(several());
    case 4:
      return ctx.select({ a: leaf(), b: leaf(), c: ctx.sleep(pick(5)) });
    case 5: {
      const early = leaf();
      ctx.status.set(await leaf());
      return [await early, ctx.status.get()];
    }
    case 6: {
      async function* numbers() {
        for (let i = pick(3); i >= 0; i--) yield await leaf();
      }
      const got: unknown[] = [];
      for await (const one of numbers()) got.push(one);
      return got;
    }
    default:
      try {
        return await leaf();
      } finally {
        ctx.kv.set('n', ((ctx.kv.get<number>('n') ?? 0) + 1) % 5);
        await ctx.sleep(0);
      }
  }
}

const definitions: readonly Registrable[] = [work, child, program];

describe(`R:3.0 rule 1: ${RUNS} live runs, seed ${SEED}`, () => {
  const random = seededRandom(SEED);
  const groups = Array.from({ length: Math.ceil(RUNS / GROUP) }, (_, n) => Math.min(GROUP, RUNS - n * GROUP));

  test.each(groups.map((size, n) => [n + 1, size]))(
    'group %d of %d runs: each replays from its history to the same end, without a divergence',
    async (_n, size) => {
      const provider = new MemoryProvider(new SystemClock());
      // Little room, so that batches and the order of completions change from group to group.
      const runtime = new Runtime(provider, {
        logger: silentLogger,
        dispatcherPollIntervalMs: 1,
        orchestrationConcurrency: 1 + Math.floor(random() * 8),
        workerConcurrency: 1 + Math.floor(random() * 12),
        warmInstances: random() < 0.5 ? 0 : 1_000,
      });
      runtime.register(...definitions);
      await runtime.start();
      const client = new Client(provider);
      const seeds = Array.from({ length: size }, () => Math.floor(random() * 2 ** 31));
      const handles = await Promise.all(
        seeds.map(async (seed) => {
          const handle = await client.start(program, seed, { id: `run-${seed}` });
          for (let i = 0; i < 4; i++) await handle.events.enqueue('box', i);
          return handle;
        }),
      );
      await Promise.allSettled(handles.map((handle) => handle.result()));
      await runtime.shutdown();
      for (const [n, handle] of handles.entries()) {
        const at = { seed: SEED, run: n, program: seeds[n] };
        const history = await provider.readWithExecution(handle.id, 1);
        expect({ ...at, ...(await replayed(handle.id, history)) }).toEqual({ ...at, ...endOf(history) });
      }
    },
  );
});

/**
 * What the code decides when it is led through the history again, up to the last thing that
 * came in: what it decided after that live, its end included, it has to decide once more.
 */
async function replayed(instance: string, history: readonly HistoryEvent[]) {
  const registration = program[REGISTRATION]({ host: new AsyncHost(), logger: silentLogger });
  if (registration.kind !== 'orchestration') throw new Error('no orchestration');
  const execution = createExecution({ instance, executionId: 1, createDriver: registration.createDriver });
  const events = history.slice(0, lastIncoming(history) + 1);
  const { result, historyDelta } = await execution.runCold({ history: events, messages: [], now: () => 0 });
  return {
    result: result.kind,
    output: 'output' in result ? result.output : undefined,
    decided: historyDelta.map(essence),
  };
}

function endOf(history: readonly HistoryEvent[]) {
  const end = history.find(({ kind }) => kind === 'OrchestrationCompleted' || kind === 'OrchestrationFailed');
  return {
    result: 'completed',
    output: end?.kind === 'OrchestrationCompleted' ? end.output : `${end?.kind}`,
    decided: history.slice(lastIncoming(history) + 1).map(essence),
  };
}

function lastIncoming(history: readonly HistoryEvent[]): number {
  return history.findLastIndex(({ kind }) =>
    /^(OrchestrationStarted|Activity(Completed|Failed)|SubOrchestration(Completed|Failed)|TimerFired|ExternalEvent.*)$/.test(
      kind,
    ),
  );
}

/** An event without what the clock says. */
function essence(event: HistoryEvent): unknown {
  return {
    ...event,
    timestampMs: 0,
    ...('fireAtMs' in event && { fireAtMs: 0 }),
    ...('lastUpdatedAtMs' in event && { lastUpdatedAtMs: 0 }),
  };
}

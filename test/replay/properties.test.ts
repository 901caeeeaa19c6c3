import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import type { StartBranch } from '../../src/runtime/generator/branches.js';
import { message } from '../support/history-builder.js';
import type { Script, ScriptContext, Steps } from '../support/script.js';
import { never, scripted } from '../support/script.js';
import { Simulation } from '../support/simulation.js';

/**
 * Random orchestrations against random worlds: whatever is scheduled, joined, raced and
 * nested, and however messages are batched, ordered and repeated, the decisions are a
 * function of history. Seeds of failures are printed by fast-check.
 */

/** A program as data, so that it can be shrunk and run many times. */
type Step =
  | { readonly op: 'activity' | 'retry'; readonly name: string }
  | { readonly op: 'timer'; readonly delayMs: number }
  | { readonly op: 'event' | 'dequeue'; readonly name: string }
  | { readonly op: 'child'; readonly explicit: boolean }
  | { readonly op: 'set'; readonly key: string }
  | { readonly op: 'status' | 'detached' | 'loose' }
  | { readonly op: 'all' | 'race'; readonly blocks: readonly (readonly Step[])[] };

const name = fc.constantFrom('a', 'b');
const leaf = fc.oneof(
  fc.record({ op: fc.constantFrom('activity', 'retry'), name }),
  fc.record({ op: fc.constant('timer'), delayMs: fc.nat(50) }),
  fc.record({ op: fc.constantFrom('event', 'dequeue'), name }),
  fc.record({ op: fc.constant('dequeue'), name }),
  fc.record({ op: fc.constant('child'), explicit: fc.boolean() }),
  fc.record({ op: fc.constant('set'), key: name }),
  fc.record({ op: fc.constantFrom('status', 'detached', 'loose') }),
);

function programOf(leaves: fc.Arbitrary<Step>): fc.Arbitrary<readonly Step[]> {
  return fc.letrec<{ step: Step; program: readonly Step[] }>((tie) => ({
    step: fc.oneof(
      { depthSize: 'small', withCrossShrink: true, maxDepth: 3 },
      { weight: 4, arbitrary: leaves },
      {
        weight: 2,
        arbitrary: fc.record({
          op: fc.constantFrom('all', 'race'),
          blocks: fc.array(tie('program'), { minLength: 1, maxLength: 3 }),
        }),
      },
    ),
    program: fc.array(tie('step'), { minLength: 1, maxLength: 4 }),
  })).program;
}
const program = programOf(leaf);
/** Little but mailbox waits, raced and joined, which is where places and breadcrumbs matter. */
const mailboxProgram = programOf(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ op: fc.constant('dequeue'), name }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('timer'), delayMs: fc.nat(50) }) },
  ),
);

/** What the world does before a turn: picks among what is open, and how it goes on. */
interface Move {
  /** Which of the open outcomes to send, by index, in this order. */
  readonly picks: readonly number[];
  readonly fails: boolean;
  readonly raises: readonly ('a' | 'b')[];
  readonly queues: readonly ('a' | 'b')[];
  readonly repeats: boolean;
  readonly crash: boolean;
}
const letters = fc.array(fc.constantFrom('a' as const, 'b' as const), { maxLength: 4 });
const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({
    picks: fc.array(fc.nat(10), { maxLength: 4 }),
    fails: fc.boolean(),
    raises: letters,
    queues: letters,
    repeats: fc.boolean(),
    crash: fc.boolean(),
  }),
  { minLength: 1, maxLength: 10 },
);

function scriptOf(
  steps: readonly Step[],
  ending: 'return' | 'continueAsNew',
  received: (data: string) => void = () => undefined,
): Script {
  return function* (s) {
    let children = 0;
    const trail = yield* block(s, steps, {
      childId: () => `explicit-${s.info.executionId}-${++children}`,
      received,
    });
    if (ending === 'return') return trail;
    s.continueAsNew(trail);
    return yield* never;
  };
}

interface Run {
  readonly childId: () => string;
  readonly received: (data: string) => void;
}

/** Everything that the code sees goes into its result, and into the inputs of later work. */
function* block(s: ScriptContext, steps: readonly Step[], run: Run): Steps<string> {
  let trail = '';
  for (const step of steps) {
    switch (step.op) {
      case 'activity':
        trail += `(${(yield* s.activity(step.name, trail)).text})`;
        break;
      case 'retry':
        trail += `(${(yield* s.retried(step.name, { maxAttempts: 2, backoff: { kind: 'fixed', delayMs: 5 }, timeoutMs: 9 }, trail)).text})`;
        break;
      case 'timer':
        trail += (yield* s.timer(step.delayMs)).text;
        break;
      case 'event':
        trail += (yield* s.event(step.name)).text;
        break;
      case 'dequeue': {
        const { text } = yield* s.dequeue(step.name);
        run.received(text);
        trail += text;
        break;
      }
      case 'child':
        trail += (yield* s.child('C', step.explicit ? run.childId() : null, trail)).text;
        break;
      case 'set':
        s.port.keyValues.set(step.key, `${s.port.keyValues.get(step.key) ?? ''}+${trail.length}`);
        break;
      case 'status':
        s.port.customStatus.set(`at ${trail.length}`);
        break;
      case 'detached':
        s.detached('D', `d-${trail.length}`, trail);
        break;
      case 'loose':
        s.emit({ kind: 'scheduleActivity', name: 'loose', input: trail });
        break;
      default: {
        const blocks: StartBranch<string>[] = step.blocks.map((inner) => s.block(() => block(s, inner, run)));
        if (step.op === 'all') trail += `[${(yield* s.all(blocks)).join()}]`;
        else {
          const { index, value } = yield* s.race(...blocks);
          trail += `<${index}:${value}>`;
        }
      }
    }
  }
  return trail;
}

/** Plays the moves; answers what is open by the content of the schedule, so that all runs answer alike. */
function play(sim: Simulation, world: readonly Move[], honourCrashes: boolean): void {
  let counter = 0;
  const sent: WorkItem[] = [];
  const [first] = world;
  sim.start(...(first?.queues ?? []).map((queue) => message.queued(queue, `q${++counter}`)));
  for (const move of world) {
    if (sim.last?.result.kind !== 'continued') return;
    if (move.crash && honourCrashes) sim.crash();
    const open = [...sim.workerItems, ...sim.orchestratorItems].filter(({ kind }) => kind !== 'CancelInstance');
    const batch: WorkItem[] = [];
    for (const pick of move.picks) {
      const item = open[pick % Math.max(1, open.length)];
      const answer = item && answerTo(item, move.fails);
      if (answer) batch.push(answer);
    }
    for (const event of move.raises) batch.push(message.raised(event, `e${++counter}`));
    for (const queue of move.queues) batch.push(message.queued(queue, `q${++counter}`));
    if (move.repeats) batch.push(...sent.slice(-2));
    sent.push(...batch);
    sim.turn(...batch);
  }
}

function answerTo(item: WorkItem, fails: boolean): WorkItem | undefined {
  switch (item.kind) {
    case 'ActivityExecute':
      return fails ? message.activityFailed(item.id, `x${item.id}`) : message.activityDone(item.id, `r${item.id}`);
    case 'TimerFired':
      return item;
    case 'StartOrchestration':
      if (item.parentId === null) return undefined;
      return fails ? message.childFailed(item.parentId, 'y') : message.childDone(item.parentId, `c${item.parentId}`);
    default:
      return undefined;
  }
}

const texts = (sim: Simulation): string[] => sim.history.map(encodeEvent);
const runs = Number(process.env['DDZ_PROPERTY_RUNS'] ?? 150);
const ending = fc.constantFrom('return' as const, 'continueAsNew' as const);

describe('random orchestrations', () => {
  test('R:LK-08 R:LK-10 crashes at any turn change neither history nor result; warm equals cold', () => {
    fc.assert(
      fc.property(program, moves, ending, (steps, world, end) => {
        const driver = scripted(scriptOf(steps, end));
        const cold = new Simulation({ driver });
        play(cold, world, false);
        const warm = new Simulation({ driver, warm: true, verify: true });
        play(warm, world, true);
        expect(texts(warm)).toEqual(texts(cold));
        expect(warm.outcomes.map(({ result }) => result)).toEqual(cold.outcomes.map(({ result }) => result));
      }),
      { numRuns: runs },
    );
  });

  test('the same for programs of mailbox waits', () => {
    fc.assert(
      fc.property(mailboxProgram, moves, ending, (steps, world, end) => {
        const driver = scripted(scriptOf(steps, end));
        const cold = new Simulation({ driver });
        play(cold, world, false);
        const warm = new Simulation({ driver, warm: true, verify: true });
        play(warm, world, true);
        expect(texts(warm)).toEqual(texts(cold));
        if (warm.last?.result.kind === 'continued') warm.expectReplays();
      }),
      { numRuns: runs },
    );
  });

  test('every stored history replays: nothing new, and no nondeterminism', () => {
    fc.assert(
      fc.property(program, moves, (steps, world) => {
        const sim = new Simulation({ driver: scripted(scriptOf(steps, 'return')) });
        play(sim, world, true);
        const failed = sim.last?.result.kind === 'failed';
        expect(failed).toBe(false);
        if (sim.last?.result.kind === 'continued') sim.expectReplays();
      }),
      { numRuns: runs },
    );
  });

  test('R:ID-06 R:ID-07 R:ID-08 R:ID-09 ids ascend, one end at most, outcomes have their schedules', () => {
    fc.assert(
      fc.property(program, moves, ending, (steps, world, end) => {
        const sim = new Simulation({ driver: scripted(scriptOf(steps, end)), warm: true });
        play(sim, world, true);
        const history = sim.history;
        history.forEach((event, i) => expect(event.eventId).toBeGreaterThan(history[i - 1]?.eventId ?? 0));
        const ends = history.filter(({ kind }) => {
          return ['OrchestrationCompleted', 'OrchestrationFailed', 'OrchestrationContinuedAsNew'].includes(kind);
        });
        expect(ends.length).toBeLessThanOrEqual(1);
        const schedules = new Map(history.map((event) => [event.eventId, event.kind]));
        const outcomes = history.filter(({ kind }) =>
          /^(Activity|SubOrchestration)(Completed|Failed)$|^TimerFired$/.test(kind),
        );
        for (const { kind, sourceEventId } of outcomes) {
          const expected = kind.startsWith('Activity')
            ? 'ActivityScheduled'
            : kind === 'TimerFired'
              ? 'TimerCreated'
              : 'SubOrchestrationScheduled';
          expect(schedules.get(sourceEventId ?? 0)).toBe(expected);
        }
        expect(new Set(outcomes.map(({ sourceEventId }) => sourceEventId)).size).toBe(outcomes.length);
        const cancelled = history.filter(({ kind }) => kind === 'ActivityCancelRequested');
        expect(new Set(cancelled.map(({ sourceEventId }) => sourceEventId)).size).toBe(cancelled.length);
      }),
      { numRuns: runs },
    );
  });

  test('no mailbox message is lost or seen twice', () => {
    fc.assert(
      fc.property(mailboxProgram, moves, (steps, world) => {
        const received = new Set<string>();
        const code = scriptOf(steps, 'continueAsNew', (data) => received.add(data));
        const sim = new Simulation({ driver: scripted(code), warm: true });
        const once = world.map((move) => ({ ...move, repeats: false }));
        play(sim, once, true);
        const last = sim.last;
        if (last?.result.kind !== 'continuedAsNew') return;
        const sent = sim.history.flatMap((event) => (event.kind === 'ExternalEventPersistent' ? [event.data] : []));
        const carried = last.orchestratorItems.flatMap((item) => {
          return item.kind === 'ContinueAsNew' ? item.carryForwardEvents.map(([, data]) => data) : [];
        });
        expect(carried).toEqual(sent.filter((data) => !received.has(data)));
      }),
      { numRuns: runs },
    );
  });

  test('events survive the wire between turns', () => {
    fc.assert(
      fc.property(program, moves, (steps, world) => {
        const sim = new Simulation({ driver: scripted(scriptOf(steps, 'return')) });
        play(sim, world, true);
        for (const text of texts(sim)) expect(encodeEvent(decodeEvent(text))).toBe(text);
      }),
      { numRuns: 50 },
    );
  });
});

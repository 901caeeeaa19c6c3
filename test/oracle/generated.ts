import type { OrchestrationCtx, OrchestrationFunction, Task } from './sdk.js';

/**
 * Random programs for both engines. A program is data, given to one interpreting
 * orchestration as its input, so that any process can run any of them; what it has to
 * answer follows from the data alone, whatever the timing.
 */
export interface Program {
  readonly steps: readonly Step[];
  readonly end: 'return' | 'throw' | 'continueAsNew';
  /** What the next execution does. */
  readonly next?: Program;
  /** Messages in the mailbox before the start; as many as are read. */
  readonly mail: readonly number[];
}

/** Something that is awaited, with an outcome that does not depend on timing. */
export type Leaf =
  | { readonly do: 'echo'; readonly value: Json }
  | { readonly do: 'fail'; readonly value: number }
  | { readonly do: 'timer'; readonly ms: number }
  | { readonly do: 'child'; readonly program: Program; readonly id?: string }
  | { readonly do: 'retry'; readonly value: number };

export type Step =
  | Leaf
  | { readonly do: 'all'; readonly of: readonly Leaf[] }
  /** The first one comes at some time, the second one never. */
  | { readonly do: 'race'; readonly winner: Leaf; readonly loser: 'event' | 'queue' | 'timer' | 'child' }
  | { readonly do: 'mail' }
  | { readonly do: 'detached'; readonly id: string; readonly value: number }
  | { readonly do: 'set'; readonly key: string; readonly value: number }
  | { readonly do: 'get'; readonly key: string }
  | { readonly do: 'clear'; readonly key: string }
  | { readonly do: 'status'; readonly value: number | null }
  | { readonly do: 'call'; readonly which: 'guid' | 'now' }
  /** Numbers that native's JSON library changes, used as an input afterwards. */
  | { readonly do: 'floats'; readonly values: readonly number[] };

type Json = number | string | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export const PROGRAM = 'program';

/** Orchestrations that run any program, by name. */
export const programOrchestrations: Readonly<Record<string, OrchestrationFunction>> = {
  [PROGRAM]: function* (ctx, input) {
    const { program } = input as { program: Program };
    const results: unknown[] = [];
    for (const step of program.steps) {
      const result = yield* runStep(ctx, step);
      if (result !== undefined) results.push(result);
    }
    if (program.end === 'continueAsNew') return yield ctx.continueAsNew({ program: program.next });
    if (program.end === 'throw') throw new Error(`thrown after ${results.length}`);
    return results;
  },
  detached: function* (ctx, input) {
    return yield ctx.scheduleActivity('echo', input);
  },
  forever: function* (ctx) {
    return yield ctx.waitForEvent('never');
  },
};

function* runStep(ctx: OrchestrationCtx, step: Step): Generator<unknown, unknown, unknown> {
  switch (step.do) {
    case 'all':
      return yield ctx.all(step.of.map((leaf) => leafTask(ctx, leaf)));
    case 'race':
      return yield ctx.race(leafTask(ctx, step.winner), loserTask(ctx, step.loser));
    case 'mail':
      return yield ctx.dequeueEvent('mail');
    case 'detached':
      return yield ctx.startOrchestration('detached', step.id, step.value);
    case 'set':
      ctx.setValue(step.key, step.value);
      return undefined;
    case 'get':
      return ctx.getValue(step.key);
    case 'clear':
      ctx.clearValue(step.key);
      return undefined;
    case 'status':
      if (step.value === null) ctx.resetCustomStatus();
      else ctx.setCustomStatus(step.value);
      return undefined;
    case 'call':
      return typeof (yield step.which === 'guid' ? ctx.newGuid() : ctx.utcNow());
    case 'floats': {
      const through = yield ctx.all(step.values.map((value) => ctx.scheduleActivity('echo', { z: value, a: value })));
      yield ctx.scheduleActivity('echo', through);
      return 'floats';
    }
    default:
      try {
        return yield leafTask(ctx, step);
      } catch (error) {
        return { caught: (error as Error).message.split('\n')[0] };
      }
  }
}

function leafTask(ctx: OrchestrationCtx, leaf: Leaf): Task {
  switch (leaf.do) {
    case 'echo':
      return ctx.scheduleActivity('echo', leaf.value);
    case 'fail':
      return ctx.scheduleActivity('fail', leaf.value);
    case 'retry':
      return ctx.scheduleActivityWithRetry('fail', leaf.value, { maxAttempts: 2, backoff: 'linear' });
    case 'timer':
      return ctx.scheduleTimer(leaf.ms);
    case 'child':
      return leaf.id === undefined
        ? ctx.scheduleSubOrchestration(PROGRAM, { program: leaf.program })
        : ctx.scheduleSubOrchestrationWithId(PROGRAM, leaf.id, { program: leaf.program });
  }
}

function loserTask(ctx: OrchestrationCtx, loser: Extract<Step, { do: 'race' }>['loser']): Task {
  switch (loser) {
    case 'event':
      return ctx.waitForEvent('never');
    case 'queue':
      return ctx.dequeueEvent('never');
    case 'timer':
      return ctx.scheduleTimer(3_600_000);
    case 'child':
      return ctx.scheduleSubOrchestration('forever');
  }
}

/** How an instance has to end, and what its values are then. */
export interface ProgramEnd {
  readonly status: 'Completed' | 'Failed';
  /** Output, or the first line of the error. */
  readonly result: unknown;
  readonly values: Readonly<Record<string, string>>;
  readonly customStatus: string | null;
}

/** What a program has to come to, by the meaning of its steps alone. */
export function expectedEnd(program: Program): ProgramEnd {
  const values = new Map<string, string>();
  let customStatus: string | null = null;
  let mailbox = [...program.mail];
  for (let current = program; ;) {
    const results: unknown[] = [];
    for (const step of current.steps) {
      switch (step.do) {
        case 'set':
          values.set(step.key, String(step.value));
          break;
        case 'clear':
          values.delete(step.key);
          break;
        case 'status':
          customStatus = step.value === null ? null : String(step.value);
          break;
        case 'get':
          results.push(values.get(step.key) ?? null);
          break;
        case 'mail':
          results.push(mailbox[0]);
          mailbox = mailbox.slice(1);
          break;
        default:
          results.push(expectedResult(step));
      }
    }
    if (current.end === 'continueAsNew' && current.next) {
      current = current.next;
      continue;
    }
    const failed = current.end === 'throw';
    return {
      status: failed ? 'Failed' : 'Completed',
      result: failed ? `Error: thrown after ${results.length}` : results,
      values: Object.fromEntries([...values].sort()),
      customStatus,
    };
  }
}

function expectedResult(step: Exclude<Step, { do: 'set' | 'clear' | 'status' | 'get' | 'mail' }>): unknown {
  switch (step.do) {
    case 'all':
      return step.of.map((leaf) => {
        const outcome = leafOutcome(leaf);
        return outcome.ok ? { ok: outcome.value } : { err: outcome.value };
      });
    case 'race':
      return { index: 0, value: leafOutcome(step.winner).value };
    case 'detached':
      return null;
    case 'call':
      return step.which === 'guid' ? 'string' : 'number';
    case 'floats':
      return 'floats';
    default: {
      const outcome = leafOutcome(step);
      return outcome.ok ? outcome.value : { caught: String(outcome.value) };
    }
  }
}

function leafOutcome(leaf: Leaf): { readonly ok: boolean; readonly value: unknown } {
  switch (leaf.do) {
    case 'echo':
      return { ok: true, value: leaf.value };
    case 'timer':
      return { ok: true, value: null };
    case 'fail':
    case 'retry':
      return { ok: false, value: `Activity 'fail' JS execution failed: GenericFailure, Error: failed: ${leaf.value}` };
    case 'child': {
      const end = expectedEnd(leaf.program);
      return { ok: end.status === 'Completed', value: end.result };
    }
  }
}

/** Makes programs from a stream of random numbers; ids of one maker never meet. */
export class ProgramMaker {
  #ids = 0;

  constructor(
    private readonly random: () => number,
    private readonly prefix: string,
  ) {}

  make(depth = 2): Program {
    // Only roots have mail: nobody writes to children.
    const mail = depth === 2 ? Array.from({ length: this.#below(3) }, () => this.#below(100)) : [];
    return this.#program(depth, mail, depth === 2 ? 2 : 1);
  }

  #program(depth: number, mail: readonly number[], executions: number): Program {
    const goesOn = executions > 1 && this.#below(4) === 0;
    const mailHere = goesOn ? mail.slice(0, this.#below(mail.length + 1)) : mail;
    const steps: Step[] = Array.from({ length: this.#below(5) }, () => this.#step(depth));
    for (let n = 0; n < mailHere.length; n++) steps.splice(this.#below(steps.length + 1), 0, { do: 'mail' });
    // A turn is needed between a race and the end: what loses in the last turn is another story (D-07).
    steps.push({ do: 'timer', ms: 0 });
    if (goesOn) {
      const next = this.#program(depth, mail.slice(mailHere.length), executions - 1);
      return { steps, end: 'continueAsNew', next, mail };
    }
    return { steps, end: this.#below(8) === 0 ? 'throw' : 'return', mail };
  }

  #step(depth: number): Step {
    const key = `k${this.#below(3)}`;
    switch (this.#below(13)) {
      case 0:
      case 1:
        return { do: 'all', of: Array.from({ length: this.#below(5) }, () => this.#leaf(depth)) };
      case 2:
      case 3:
        return { do: 'race', winner: this.#leaf(depth), loser: this.#pick(['event', 'queue', 'timer', 'child']) };
      case 4:
        return { do: 'detached', id: this.#id('detached'), value: this.#below(100) };
      case 5:
        return { do: 'set', key, value: this.#below(1000) };
      case 6:
        return { do: 'get', key };
      case 7:
        return { do: 'clear', key };
      case 8:
        return { do: 'status', value: this.#below(3) === 0 ? null : this.#below(100) };
      case 9:
        return { do: 'call', which: this.#pick(['guid', 'now']) };
      case 10:
        return { do: 'floats', values: [this.random(), this.random() * 1e-300, Math.round(this.random() * 1e6) / 1e3] };
      default:
        return this.#leaf(depth);
    }
  }

  #leaf(depth: number): Leaf {
    switch (this.#below(depth > 0 ? 7 : 5)) {
      case 0:
        return { do: 'fail', value: this.#below(100) };
      case 1:
        return { do: 'timer', ms: this.#below(30) };
      case 2:
        return { do: 'retry', value: this.#below(100) };
      case 5:
        return { do: 'child', program: this.make(depth - 1) };
      case 6:
        return { do: 'child', program: this.make(depth - 1), id: this.#id('child') };
      default:
        return {
          do: 'echo',
          value: this.#pick<Json>([null, true, this.#below(1000), 'text "ä" 🎉', { a: [1, 'b'], c: {} }]),
        };
    }
  }

  #id(kind: string): string {
    return `${this.prefix}-${kind}-${this.#ids++}`;
  }

  #below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)] as T;
  }
}

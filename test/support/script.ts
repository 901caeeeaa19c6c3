import type { Branch, Outcome, Scheduler, StartBranch } from '../../src/runtime/generator/branches.js';
import { join, race, single, withRetry } from '../../src/runtime/generator/branches.js';
import type { Retry } from '../../src/runtime/generator/retry.js';
import type { EmittedAction } from '../../src/runtime/replay/action.js';
import type {
  CreateDriver,
  EnginePort,
  ExecutionInfo,
  OrchestrationDriver,
  Token,
} from '../../src/runtime/replay/driver.js';

/** A branch that a body waits for with `yield*`, which gives its result. */
export type Awaitable<T> = StartBranch<T> & Iterable<StartBranch<unknown>, T, unknown>;

/** A body of steps. */
export type Steps<T> = Generator<StartBranch<unknown>, T, unknown>;

/** Orchestration code for tests of the engine: nesting and races of any width, and work that nobody waits for. */
export type Script = (s: ScriptContext) => Steps<string>;

function awaitable<T>(start: StartBranch<T>): Awaitable<T> {
  return Object.assign((done: (result: T) => void) => start(done), {
    *[Symbol.iterator](): Generator<StartBranch<unknown>, T, unknown> {
      return (yield start) as T; // the driver resumes with the result of what was yielded
    },
  });
}

/** A failure that a script lets go: it ends the instance with this very text. */
export class ScriptFailure extends Error {}

/** What a script works with: the branches of the generator driver, without the limits of its API. */
export class ScriptContext {
  constructor(
    readonly port: EnginePort,
    readonly info: ExecutionInfo,
    private readonly scheduler: Scheduler,
  ) {}

  activity(name: string, input = '1', extra: { sessionId?: string; tag?: string } = {}): Awaitable<Outcome> {
    return awaitable(single(this.scheduler, { kind: 'scheduleActivity', name, input, ...extra }));
  }
  timer(delayMs = 1000): Awaitable<Outcome> {
    return awaitable(single(this.scheduler, { kind: 'createTimer', delayMs }));
  }
  event(name: string): Awaitable<Outcome> {
    return awaitable(single(this.scheduler, { kind: 'waitExternal', name }));
  }
  dequeue(name: string): Awaitable<Outcome> {
    return awaitable(single(this.scheduler, { kind: 'dequeueEvent', name }));
  }
  child(name: string, instance: string | null = null, input = '1', version: string | null = null): Awaitable<Outcome> {
    return awaitable(single(this.scheduler, { kind: 'startSubOrchestration', name, instance, input, version }));
  }
  retried(name: string, retry: Retry, input = '1'): Awaitable<Outcome> {
    return awaitable(withRetry(this.scheduler, { kind: 'scheduleActivity', name, input }, retry));
  }
  all<T>(branches: readonly StartBranch<T>[]): Awaitable<T[]> {
    return awaitable(join(branches));
  }
  race<T>(...branches: readonly StartBranch<T>[]): Awaitable<{ index: number; value: T }> {
    return awaitable(race(branches));
  }

  /** Several steps as one branch. */
  block<T>(body: () => Steps<T>): Awaitable<T> {
    return awaitable((done): Branch => {
      let current: Branch = { drop: () => undefined };
      const steps = body();
      const advance = (value?: unknown): void => {
        const step = steps.next(value);
        if (step.done) done(step.value);
        else current = step.value(advance);
      };
      advance();
      return { drop: () => current.drop() };
    });
  }

  /** Emits an action and goes on without waiting for it. */
  emit(action: EmittedAction): Token {
    return this.scheduler.schedule(action, () => undefined);
  }
  detached(name: string, instance: string, input = '1', version: string | null = null): void {
    this.scheduler.decide({ kind: 'startDetached', name, instance, input, version });
  }
  continueAsNew(input: string, version: string | null = null): void {
    this.scheduler.decide({ kind: 'continueAsNew', input, version });
  }
  drop(token: Token): void {
    this.scheduler.drop(token);
  }
  panic(message: string): void {
    this.scheduler.panic(message);
  }
}

/** The text of a good outcome; a bad one ends the script. */
export function ok(outcome: Outcome): string {
  if (!outcome.ok) throw new ScriptFailure(outcome.text);
  return outcome.text;
}

/** Waits for ever: what code does after continue-as-new. */
export const never: Awaitable<never> = awaitable<never>(() => ({ drop: () => undefined }));

/** A result that is there at once: a step for code that waits for nothing. */
export function value<T>(result: T): Awaitable<T> {
  return awaitable((done) => {
    done(result);
    return { drop: () => undefined };
  });
}

/** A driver for a script. `onPoll` is told of every entry into it. */
export function scripted(script: Script, onPoll?: (context: ScriptContext) => void): CreateDriver {
  return (port, info) => new ScriptDriver(script, port, info, onPoll);
}

class ScriptDriver implements OrchestrationDriver {
  private readonly waiting = new Map<Token, (outcome: Outcome) => void>();
  private readonly context: ScriptContext;
  private steps: Steps<string> | undefined;

  constructor(
    private readonly script: Script,
    private readonly port: EnginePort,
    info: ExecutionInfo,
    private readonly onPoll: ((context: ScriptContext) => void) | undefined,
  ) {
    this.context = new ScriptContext(port, info, {
      schedule: (action, onOutcome) => {
        const token = port.emit(action);
        this.waiting.set(token, onOutcome);
        return token;
      },
      decide: (action) => void port.emit(action),
      drop: (token) => {
        this.waiting.delete(token);
        port.drop(token);
      },
      panic: (message) => port.done({ kind: 'panic', message }),
      warn: () => undefined,
    });
  }

  start(): void {
    this.onPoll?.(this.context);
    this.guarded(() => {
      this.steps = this.script(this.context);
      this.advance(undefined);
    });
  }

  deliver(token: Token, value: string | null, failed: boolean): void {
    this.onPoll?.(this.context);
    const onOutcome = this.waiting.get(token);
    this.waiting.delete(token);
    this.guarded(() => onOutcome?.({ ok: !failed, text: value ?? 'null' }));
  }

  private advance(value: unknown): void {
    const step = this.steps?.next(value);
    if (!step) return;
    if (step.done) this.port.done({ kind: 'output', output: step.value });
    else step.value((result: unknown) => this.advance(result));
  }

  private guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof ScriptFailure)) throw error;
      this.port.done({ kind: 'error', message: error.message });
    }
  }
}

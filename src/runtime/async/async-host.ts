import { AsyncLocalStorage, AsyncResource, createHook, type AsyncHook } from 'node:async_hooks';
import { claimRejections } from '../../base/rejection-guard.js';
import { type RawCall, watchRawCalls } from './raw-call-watch.js';
import { stackHere, userFrames } from './user-frames.js';

/** Jobs of `randomBytes`, `gzipSync` and their like are resources too, but nobody waits for them. */
const SYNCHRONOUS_CALL = /^ +at (?:\w+\.)*(?:\w+Sync|sync\w+) \(node:/m;

/** Executions of which the place of a foreign await is looked for at their next turn. */
const MAX_TRACED = 100;

/** Ticks starve I/O and lock renewal, so the loop gets a turn at least so often. In ms. */
const LONGEST_STRETCH_MS = 10;

/** What the host tells an execution about its own code. */
export interface HostedExecution {
  /** Names the execution among all of the runtime. */
  readonly key: string;
  /** The code, or something it called, made a resource that no replay can repeat. */
  foreignResource(type: string, stack: string): void;
  /** The code made a promise here; told of traced executions only. */
  promiseMade(stack: string): void;
  /** A promise of its code was rejected before anybody held it. */
  unheldRejection(reason: unknown, promise: Promise<unknown>): void;
  /** Its code asked for time or chance past its context; told once. */
  rawCall(call: RawCall): void;
  /** Somebody holds it now. */
  heldAfterAll(promise: Promise<unknown>): void;
}

/**
 * What the executions of async orchestrations share in one runtime: the drain window,
 * the watch for foreign awaits, and the care for rejections that nobody holds yet
 * (runtime.md 3.0, rules 1, 3 and 5). One instance per runtime, no state in the module.
 */
export class AsyncHost {
  private readonly storage = new AsyncLocalStorage<HostedExecution>();
  private readonly hook: AsyncHook;
  private hookEnabled = false;
  /** The execution whose window is open. Windows never overlap: each waits for the one before. */
  private current: HostedExecution | undefined;
  private tail: Promise<void> = Promise.resolve();
  private stretchBeganAtMs = performance.now();
  private readonly traced = new Set<string>();
  private isTracing = false;
  /** The code has asked for a tick since the drain last looked. */
  private hasTicks = false;

  constructor() {
    this.hook = createHook({
      init: (_asyncId, type, trigger, resource) => {
        if (type === 'PROMISE') {
          if (this.isTracing) this.observed()?.promiseMade(userFrames(stackHere()));
          return;
        }
        const execution = this.observed();
        if (!execution) return;
        if (type === 'TickObject') this.hasTicks = true;
        // An `AsyncResource` only carries a context; what it waits for is another resource.
        if (type === 'TickObject' || type === 'Microtask' || resource instanceof AsyncResource) return;
        if (isOutput(type, trigger)) return;
        const stack = stackHere();
        if (!SYNCHRONOUS_CALL.test(stack)) execution.foreignResource(type, userFrames(stack));
      },
    });
  }

  /** The execution whose window is open, if it is its code that runs. */
  private observed(): HostedExecution | undefined {
    const execution = this.storage.getStore();
    return execution === this.current ? execution : undefined;
  }

  /**
   * Where a foreign await stands is not always to be seen when it is found. From its next
   * turn on the execution is watched more closely, which is too slow for all.
   */
  trace({ key }: HostedExecution): void {
    if (this.traced.size >= MAX_TRACED) this.traced.clear();
    this.traced.add(key);
  }

  untrace({ key }: HostedExecution): void {
    this.traced.delete(key);
  }

  /** Runs what is no part of the orchestration, such as the writing of its log: it may do what it likes. */
  outside<T>(use: () => T): T {
    return this.storage.exit(use);
  }

  /**
   * Cares for rejections until the returned function is called. `const p = helper(ctx);
   * await ctx.call(other); await p` rejects a promise before anybody awaits it. That is legal
   * in an orchestration, and ending the process for it would end it again after each restart.
   */
  retain({ watchesRawCalls = false } = {}): () => void {
    openOutputs();
    const unwatch = watchesRawCalls
      ? watchRawCalls(
          () => this.observed() !== undefined,
          (call) => this.outside(() => this.current?.rawCall(call)),
        )
      : () => {};
    const owners = new WeakMap<Promise<unknown>, HostedExecution>();
    const release = claimRejections(
      (reason, promise) => {
        const execution = this.storage.getStore();
        if (!execution) return false;
        owners.set(promise, execution);
        this.storage.exit(() => execution.unheldRejection(reason, promise));
        return true;
      },
      (promise) => owners.get(promise)?.heldAfterAll(promise),
    );
    return () => {
      release();
      unwatch();
      this.disableHook();
      this.storage.disable();
    };
  }

  /** Whether `execution`'s own window is open and the caller runs inside it. */
  isInside(execution: HostedExecution): boolean {
    return this.current === execution && this.storage.getStore() === execution;
  }

  /**
   * Opens the window of `execution`, runs `act` in it, and resolves when everything that
   * follows from it without the outside world has happened.
   */
  async drain(execution: HostedExecution, act: () => void): Promise<void> {
    const before = this.tail;
    let close = () => {};
    this.tail = new Promise((resolve) => {
      close = resolve;
    });
    await before;
    try {
      this.enableHook();
      this.current = execution;
      this.isTracing = this.traced.size > 0 && this.traced.has(execution.key);
      this.storage.run(execution, act);
      do {
        this.hasTicks = false;
        await emptied();
      } while (this.hasTicks);
    } finally {
      this.current = undefined;
      this.isTracing = false;
      close();
    }
    if (performance.now() - this.stretchBeganAtMs > LONGEST_STRETCH_MS) await this.letTheLoopTurn();
  }

  private async letTheLoopTurn(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.stretchBeganAtMs = performance.now();
  }

  /** Switching the hook costs more than a drain, so it stays on until the loop turns. */
  private enableHook(): void {
    if (this.hookEnabled) return;
    this.hookEnabled = true;
    this.stretchBeganAtMs = performance.now();
    setImmediate(() => this.disableHook());
    this.hook.enable();
  }

  private disableHook(): void {
    if (!this.hookEnabled) return;
    this.hookEnabled = false;
    this.hook.disable();
  }
}

/**
 * Resolves when the microtask queue has run empty. The tick queue runs only then; the
 * second tick absorbs a `process.nextTick` of the user's code.
 */
function emptied(): Promise<void> {
  return new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
}

/** The streams of the process come into being when somebody prints first; that is no business of an orchestration. */
function openOutputs(): void {
  outputs();
}

/** What `console.log` needs of the system. */
function isOutput(type: string, trigger: number): boolean {
  return type === 'WRITEWRAP' && outputs().some((stream) => stream._handle?.getAsyncId?.() === trigger);
}

/** Both are `Writable`s; what they write to is not part of the public types. */
interface OutputStream {
  readonly _handle?: { readonly getAsyncId?: () => number } | null;
}

function outputs(): readonly OutputStream[] {
  return [process.stdout, process.stderr] as unknown as readonly OutputStream[];
}

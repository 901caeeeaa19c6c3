import { AsyncLocalStorage, createHook, type AsyncHook } from 'node:async_hooks';
import { claimRejections } from '../../base/rejection-guard.js';

/** Resources that deterministic code may create: promises, and the ticks of a drain itself. */
const DETERMINISTIC_RESOURCES = new Set(['PROMISE', 'TickObject', 'Microtask']);

/** Ticks starve I/O and lock renewal, so the loop gets a turn at least so often. In ms. */
const LONGEST_STRETCH_MS = 10;

/** Frames of a recorded stack that the error shows: enough to find the line, short enough for a log. */
const STACK_FRAMES = 12;

/** What the host tells an execution about its own code. */
export interface HostedExecution {
  /** The code, or something it called, made a resource that no replay can repeat. */
  foreignResource(type: string, stack: string): void;
  /** A promise of its code was rejected before anybody held it. */
  unheldRejection(reason: unknown, promise: Promise<unknown>): void;
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

  constructor() {
    this.hook = createHook({
      init: (_asyncId, type) => {
        if (DETERMINISTIC_RESOURCES.has(type)) return;
        const execution = this.storage.getStore();
        if (execution !== undefined && execution === this.current) execution.foreignResource(type, callerStack());
      },
    });
  }

  /**
   * Cares for rejections until the returned function is called. `const p = helper(ctx);
   * await ctx.call(other); await p` rejects a promise before anybody awaits it. That is legal
   * in an orchestration, and ending the process for it would end it again after each restart.
   */
  retain(): () => void {
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
      this.disableHook();
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
      this.storage.run(execution, act);
      await emptied();
    } finally {
      this.current = undefined;
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

function callerStack(): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callerStack);
  return (holder.stack ?? '')
    .split('\n')
    .slice(1)
    .filter((line) => !line.includes('node:') && !line.includes('async-host'))
    .slice(0, STACK_FRAMES)
    .join('\n');
}

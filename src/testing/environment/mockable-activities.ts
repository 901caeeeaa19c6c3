import { AsyncLocalStorage } from 'node:async_hooks';
import type { ActivityHandler } from '../../runtime/activity-handler.js';

/** The handlers of one process. */
export interface RunningHandlers {
  /** All that run. */
  held: number;
  /** Those that do not sleep on the virtual clock. */
  busy: number;
}

/** Handlers by name, any of which may be replaced while the runtime runs. */
export class MockableActivities {
  private readonly originals = new Map<string, ActivityHandler>();
  private readonly mocks = new Map<string, ActivityHandler>();
  private readonly runs = new AsyncLocalStorage<RunningHandlers>();

  /** @param onChange called when a handler begins, ends, or begins or ends to sleep */
  constructor(private readonly onChange: () => void) {}

  /** Names that have been given a handler of either kind. */
  names(): string[] {
    return [...new Set([...this.originals.keys(), ...this.mocks.keys()])];
  }

  setOriginal(name: string, handler: ActivityHandler): void {
    this.originals.set(name, handler);
  }

  /** Answers with what takes this mock, and no later one, away again. */
  mock(name: string, handler: ActivityHandler): () => void {
    this.mocks.set(name, handler);
    return () => {
      if (this.mocks.get(name) === handler) this.mocks.delete(name);
    };
  }

  /** To be called at the end: a storage that is on costs every promise of the process a look at it. */
  close(): void {
    this.runs.disable();
  }

  restore(): void {
    this.mocks.clear();
  }

  /** The handler that a process registers under this name: whatever stands behind it at the time of a run. */
  handlerFor(name: string, process: RunningHandlers): ActivityHandler {
    const run: ActivityHandler = (ctx, input, maxPayloadBytes) =>
      this.counted(process, async () => {
        const handler = this.current(name);
        if (handler) return handler(ctx, input, maxPayloadBytes);
        return { ok: false, message: `activity '${name}' has no code in this environment: register or mock it` };
      });
    const inTransaction = () => {
      const original = this.current(name)?.inTransaction;
      if (!original) return undefined;
      const counted: typeof original.run = (...parameters) => this.counted(process, () => original.run(...parameters));
      return { ...original, run: counted };
    };
    return Object.defineProperty(run, 'inTransaction', { get: inTransaction });
  }

  /** Runs `sleep`, during which the activity that calls it, if any, is not busy. */
  async asleep(sleep: () => Promise<void>): Promise<void> {
    const process = this.runs.getStore();
    if (process) process.busy -= 1;
    this.onChange();
    try {
      await sleep();
    } finally {
      if (process) process.busy += 1;
      this.onChange();
    }
  }

  get isInActivity(): boolean {
    return this.runs.getStore() !== undefined;
  }

  private current(name: string): ActivityHandler | undefined {
    return this.mocks.get(name) ?? this.originals.get(name);
  }

  private async counted<T>(process: RunningHandlers, run: () => Promise<T>): Promise<T> {
    process.busy += 1;
    process.held += 1;
    this.onChange();
    try {
      return await this.runs.run(process, run);
    } finally {
      process.busy -= 1;
      process.held -= 1;
      this.onChange();
    }
  }
}

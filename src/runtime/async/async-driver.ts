import type { FailureData } from '../../wire/failure.js';
import type { EmittedAction } from '../replay/action.js';
import type {
  CustomStatus,
  DriverOutcome,
  EnginePort,
  ExecutionInfo,
  KeyValueStore,
  OrchestrationDriver,
  Token,
} from '../replay/driver.js';
import type { AsyncHost, HostedExecution } from './async-host.js';
import type { RawCall } from './raw-call-watch.js';
import { userFrames } from './user-frames.js';
import { ForeignAwaitError } from './foreign-await-error.js';

/** The outcome of one durable call; `text` is the display text of what went wrong, `failure` what was kept beside it. */
export interface Settlers {
  readonly resolve: (value: string | null) => void;
  readonly reject: (text: string, failure?: FailureData) => void;
}

/** What the context of an async orchestration is built on. Every call is checked to stand in its own turn. */
export interface AsyncPort {
  readonly info: ExecutionInfo;
  /** Records a decision; `settle` hears of its outcome, at most once. */
  emit(action: EmittedAction, settle: Settlers): Token;
  /** As {@link emit}, for decisions without an outcome. */
  emitDetached(action: EmittedAction): Token;
  drop(token: Token): void;
  /** Runs what is no part of the orchestration and need not be deterministic, such as a logger. */
  outside<T>(use: () => T): T;
  readonly keyValues: KeyValueStore;
  readonly customStatus: CustomStatus;
  readonly replaying: boolean;
}

/** What a runtime hears of its async orchestrations beside their outcomes. */
export interface AsyncObserver {
  /** The code has ended, and never awaited this rejection. */
  lostRejection(reason: unknown): void;
  /** Found between two turns; the next turn will be put off for it. */
  foreignAwait(error: ForeignAwaitError): void;
  /** The code asked for time or chance past its context. */
  rawCall(call: RawCall): void;
}

/** Runs the user's function on a port; resolves with what it returned, encoded. */
export type RunAsync = (port: AsyncPort) => Promise<DriverOutcome>;

/**
 * Drives an async orchestration: one event settles one promise of the engine, then the
 * code runs until nothing more follows from it (runtime.md 3.0, rule 1). Two ready
 * promises never race on the order of microtasks, so what ran once replays as it ran.
 */
export class AsyncDriver implements OrchestrationDriver, HostedExecution {
  readonly key: string;
  private readonly waiting = new Map<Token, Settlers>();
  private finished = false;
  /** The code continued as new: it waits for something that never comes, and that is right. */
  private leaving = false;
  /** Rejections of its code that nobody has awaited yet. */
  private readonly unheld = new Map<Promise<unknown>, unknown>();
  /** Where the code made its last promise, if it is watched so closely. */
  private lastPromise = '';
  /** Found in a window, or between two turns; the turn that sees it is not committed. */
  private violation: ForeignAwaitError | undefined;

  constructor(
    private readonly host: AsyncHost,
    private readonly port: EnginePort,
    private readonly info: ExecutionInfo,
    private readonly run: RunAsync,
    private readonly observer?: AsyncObserver,
  ) {
    this.key = `${info.executionId}:${info.instance}`;
  }

  start(): Promise<void> {
    return this.step(() => {
      void this.run(this.makePort()).then(
        (outcome) => this.finish(outcome),
        (error: unknown) => this.finish({ kind: 'error', message: String(error) }),
      );
    });
  }

  deliver(token: Token, value: string | null, failed: boolean, failure?: FailureData): Promise<void> {
    return this.step(() => {
      const settlers = this.waiting.get(token);
      this.waiting.delete(token);
      if (failed) settlers?.reject(value ?? '', failure);
      else settlers?.resolve(value);
    });
  }

  foreignResource(type: string, stack: string): void {
    this.violate(`something that is not durable was started (${type})`, stack || this.lastPromise);
  }

  promiseMade(stack: string): void {
    if (stack !== '') this.lastPromise = stack;
  }

  rawCall(call: RawCall): void {
    this.observer?.rawCall(call);
  }

  unheldRejection(reason: unknown, promise: Promise<unknown>): void {
    this.unheld.set(promise, reason);
    if (this.finished) this.reportUnheld();
  }

  heldAfterAll(promise: Promise<unknown>): void {
    this.unheld.delete(promise);
  }

  /** Loop turns later, because Node tells late of what was handled late. */
  private reportUnheld(loopTurns = 3): void {
    setImmediate(() => {
      if (loopTurns > 1) return this.reportUnheld(loopTurns - 1);
      const reasons = [...this.unheld.values()];
      this.unheld.clear();
      for (const reason of reasons) this.observer?.lostRejection(reason);
    });
  }

  private async step(act: () => void): Promise<void> {
    await this.host.drain(this, act);
    if (this.finished) this.host.untrace(this);
    if (this.finished && this.unheld.size > 0) this.reportUnheld();
    if (!this.finished && !this.leaving && this.waiting.size === 0) {
      this.violate('the code waits, but for nothing durable', this.lastPromise);
    }
    if (this.violation) throw this.violation;
  }

  private finish(outcome: DriverOutcome): void {
    if (!this.host.isInside(this)) return this.outside('the function ended outside its turn');
    this.finished = true;
    this.port.done(outcome);
  }

  private outside(what: string): void {
    if (this.violation) return;
    this.violate(what, userFrames(new Error().stack ?? ''));
    if (this.violation) this.observer?.foreignAwait(this.violation);
  }

  private violate(what: string, place: string): void {
    if (this.violation) return;
    this.violation = ForeignAwaitError.of(this.info, what, place);
    if (place === '') this.host.trace(this);
  }

  /** A call from outside the window: kept for the next turn's report, and thrown at the caller. */
  private check(): void {
    if (this.host.isInside(this) && this.port.active) return;
    this.outside('its context was used outside its own turn');
    throw this.violation ?? new Error('unreachable');
  }

  private makePort(): AsyncPort {
    const checked = <T>(use: (port: EnginePort) => T): T => {
      this.check();
      return use(this.port);
    };
    return {
      info: this.info,
      emit: (action, settle) =>
        checked((port) => {
          const token = port.emit(action);
          this.waiting.set(token, settle);
          return token;
        }),
      emitDetached: (action) =>
        checked((port) => {
          if (action.kind === 'continueAsNew') this.leaving = true;
          return port.emit(action);
        }),
      drop: (token) =>
        checked((port) => {
          this.waiting.delete(token);
          port.drop(token);
        }),
      outside: (use) => this.host.outside(use),
      get keyValues() {
        return checked((port) => port.keyValues);
      },
      get customStatus() {
        return checked((port) => port.customStatus);
      },
      get replaying() {
        return checked((port) => port.replaying);
      },
    };
  }
}

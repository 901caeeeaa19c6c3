import { toStorable } from '../../base/text.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import type { FailureData } from '../../wire/failure.js';
import type { Action, AwaitableActionKind, EmittedAction } from './action.js';
import { ActionQueue } from './action-queue.js';
import type { CreateDriver, DriverOutcome, EnginePort, ExecutionInfo, OrchestrationDriver, Token } from './driver.js';
import { OutsideTurnError } from './driver.js';
import { panicked } from './failures.js';
import { isReservedInstanceId, reservedDetachedIdMessage } from './instance-ids.js';
import type { KeyValueHost } from './key-values.js';
import { KeyValueMemory } from './key-values.js';
import type { RecordedAction } from './recorded-action.js';
import { cleanAction } from './recorded-action.js';
import type { KvSeed } from './turn.js';
import type { ReadyWait } from './waits.js';
import { Waits } from './waits.js';

/** Something that the code waits for, until its outcome is delivered. */
export interface Task {
  readonly token: Token;
  readonly kind: AwaitableActionKind;
  /** Of its schedule event, once it has one. */
  eventId: number | undefined;
  /** The token that came next when the code lost interest. */
  droppedAt: Token | undefined;
  /** The first token of the poll in which that was: its breadcrumb goes before the actions of that poll. */
  droppedIn: Token;
}

/** What the next poll hands over. */
type Ready =
  | {
      readonly kind: 'outcome';
      readonly token: Token;
      readonly value: string | null;
      readonly failed: boolean;
      readonly failure: FailureData | undefined;
    }
  | { readonly kind: 'wait'; readonly token: Token; readonly wait: ReadyWait; readonly source: Waits };

/** What the side of the code asks of the side of history. */
export interface CodeHost extends Pick<KeyValueHost, 'turnStartMs' | 'recordedClears'> {
  nowMs(): number;
  isReplaying(): boolean;
  /**
   * Whether the schedule events of a turn are being gone through: a mailbox wait that is
   * dropped there keeps its place until its breadcrumb (runtime.md 3.5).
   */
  isInScheduleRun(): boolean;
  /** The turn used a rule that only a replay from the start shows. */
  markColdOnly(): void;
  /** Hears of every decision; for tools. */
  readonly decided?: ((action: Action) => void) | undefined;
}

export interface CodeParams {
  readonly createDriver: CreateDriver;
  readonly info: ExecutionInfo;
  readonly kvSeed: KvSeed | undefined;
  /** The status carried into this execution. */
  readonly carriedStatus: string | undefined;
}

/**
 * The side of the user's code in an execution: its driver, the actions it has emitted,
 * the tasks it waits for, and its in-memory key-value store and status.
 */
export class OrchestrationCode {
  /** Emitted and not yet matched with an event. */
  readonly actions = new ActionQueue();
  readonly positional = new Waits(false);
  readonly mailboxes = new Waits(true);
  readonly keyValues: KeyValueMemory;
  /** Dropped and not yet recorded at the end of a turn, in the order of dropping. */
  drops: Task[] = [];
  /** Those of them that wait for a mailbox and have no breadcrumb yet; these are recorded at their place. */
  queueDrops: Task[] = [];
  finished: DriverOutcome | undefined;

  private readonly driver: OrchestrationDriver;
  private readonly tasks = new Map<Token, Task>();
  private ready: Ready[] = [];
  private nextToken: Token = 1;
  private firstTokenOfPoll: Token = 1;
  private isStarted = false;
  private isActive = false;
  private status: string | null;
  private latestStatus: string | null;

  constructor(
    { createDriver, info, kvSeed, carriedStatus }: CodeParams,
    private readonly host: CodeHost,
  ) {
    this.status = this.latestStatus = carriedStatus ?? null;
    this.keyValues = new KeyValueMemory(kvSeed, {
      record: (action, stampMs) => this.record(action, { stampMs }),
      nowMs: () => host.nowMs(),
      turnStartMs: () => host.turnStartMs(),
      recordedClears: () => host.recordedClears(),
      prunedOwnKey: () => host.markColdOnly(),
    });
    this.driver = createDriver(this.port(carriedStatus !== undefined), info);
  }

  /** As the code would read it. */
  get customStatus(): string | null {
    return this.status;
  }

  /** Applying the start event sets the status once more, after the first poll (T-12). */
  restoreCarriedStatus(status: string): void {
    this.status = status;
  }

  /** Runs the code until it rests: hands over what has become ready, in the order of emission. */
  poll(): void | Promise<void> {
    this.firstTokenOfPoll = this.nextToken;
    if (!this.isStarted) {
      this.isStarted = true;
      return this.call(() => this.driver.start());
    }
    // A drop may make another wait ready, so look again until nothing is.
    for (let ready = this.takeReady(); ready.length > 0; ready = this.takeReady()) {
      for (const [i, next] of ready.entries()) {
        const pending = this.deliver(next);
        if (pending) return this.deliverRest(pending, ready.slice(i + 1));
      }
    }
  }

  /** Joins an action with its event. Answers whether a wait of it can be served at once. */
  bind({ token, action }: RecordedAction, eventId: number): { task: Task | undefined; isReady: boolean } {
    const task = this.tasks.get(token);
    if (!task) return { task, isReady: false };
    task.eventId = eventId;
    const wait = { token, eventId, droppedAt: task.droppedAt };
    if (action.kind === 'waitExternal') return { task, isReady: this.positional.bind(action.name, wait) };
    if (action.kind === 'dequeueEvent') return { task, isReady: this.mailboxes.bind(action.name, wait) };
    return { task, isReady: false };
  }

  /** An outcome has come for a task; a dropped one takes no notice. */
  resolve(task: Task, value: string | null, failed: boolean, failure?: FailureData): void {
    if (task.droppedAt === undefined) this.ready.push({ kind: 'outcome', token: task.token, value, failed, failure });
    else this.tasks.delete(task.token);
  }

  /** Rough size in memory, in bytes; what the user's code holds is not known. */
  get retainedBytes(): number {
    return (
      this.tasks.size * 120 +
      this.keyValues.retainedBytes +
      this.positional.retainedBytes +
      this.mailboxes.retainedBytes +
      ((this.status?.length ?? 0) + (this.latestStatus?.length ?? 0)) * 2
    );
  }

  private takeReady(): Ready[] {
    const ready = this.ready;
    this.ready = [];
    for (const source of [this.positional, this.mailboxes]) {
      for (const wait of source.takeReady()) ready.push({ kind: 'wait', token: wait.token, wait, source });
    }
    return ready.length > 1 ? ready.sort((a, b) => a.token - b.token) : ready;
  }

  private deliver(ready: Ready): void | Promise<void> {
    const task = this.tasks.get(ready.token);
    if (this.finished || !task || task.droppedAt !== undefined) return;
    if (ready.kind === 'outcome') {
      this.tasks.delete(ready.token);
      return this.call(() => this.driver.deliver(ready.token, ready.value, ready.failed, ready.failure));
    }
    // The value is read only now: what was delivered before may have shifted it.
    const data = ready.source.serve(ready.wait);
    if (data === undefined) return;
    this.tasks.delete(ready.token);
    return this.call(() => this.driver.deliver(ready.token, data, false));
  }

  private async deliverRest(pending: Promise<void>, ready: readonly Ready[]): Promise<void> {
    await pending;
    for (let rest = ready; rest.length > 0; rest = this.takeReady()) {
      for (const next of rest) await this.deliver(next);
    }
  }

  private call(step: () => void | Promise<void>): void | Promise<void> {
    this.isActive = true;
    let pending: void | Promise<void> = undefined;
    try {
      pending = step();
    } finally {
      if (!pending) this.isActive = false;
    }
    return pending ? this.callRest(pending) : undefined;
  }

  private async callRest(pending: Promise<void>): Promise<void> {
    try {
      await pending;
    } finally {
      this.isActive = false;
    }
  }

  private port(hasCarriedStatus: boolean): EnginePort {
    const { host } = this;
    // The port outlives this scope in the user's hands: it gets closures, not the whole object.
    const isActive = (): boolean => this.isActive;
    const assertActive = (): void => {
      if (!this.isActive) throw new OutsideTurnError();
    };
    const { keyValues } = this;
    return {
      emit: (action: EmittedAction) => {
        assertActive();
        return this.emit(cleanAction(action));
      },
      drop: (token) => {
        assertActive();
        this.drop(token);
      },
      done: (outcome) => {
        assertActive();
        this.finished ??= outcome;
      },
      keyValues: {
        get: (key) => (assertActive(), keyValues.get(key)),
        entries: () => (assertActive(), keyValues.entries()),
        get size() {
          assertActive();
          return keyValues.size;
        },
        set: (key, value) => (assertActive(), keyValues.set(key, value)),
        clear: (key) => (assertActive(), keyValues.clear(key)),
        clearAll: () => (assertActive(), keyValues.clearAll()),
        pruneUpdatedBefore: (cutoffMs) => (assertActive(), keyValues.pruneUpdatedBefore(cutoffMs)),
      },
      customStatus: {
        get: () => {
          assertActive();
          if (hasCarriedStatus) host.markColdOnly();
          return this.status;
        },
        latest: () => (assertActive(), this.latestStatus),
        set: (status) => {
          assertActive();
          this.status = this.latestStatus = status === null ? null : toStorable(status);
          this.record({ kind: 'updateCustomStatus', status: this.status }, {});
        },
      },
      get replaying() {
        return host.isReplaying();
      },
      get active() {
        return isActive();
      },
    };
  }

  private emit(action: Action): Token {
    if (action.kind === 'startDetached' && isReservedInstanceId(action.instance)) {
      this.finished ??= { kind: 'panic', message: reservedDetachedIdMessage(action.instance) };
    }
    const fireAtMs = action.kind === 'createTimer' ? deadline(this.host.nowMs(), action.delayMs) : 0;
    const token = this.record(action, { fireAtMs });
    if (!this.finished && isAwaitable(action.kind)) {
      this.tasks.set(token, { token, kind: action.kind, eventId: undefined, droppedAt: undefined, droppedIn: 0 });
    }
    return token;
  }

  private record(action: Action, { fireAtMs = 0, stampMs = 0 }: { fireAtMs?: number; stampMs?: number }): Token {
    const token = this.nextToken++;
    // What branches do after the orchestration has returned is not its decision any more.
    if (!this.finished) {
      this.actions.push({ token, action, fireAtMs, stampMs });
      this.host.decided?.(action);
    }
    return token;
  }

  private drop(token: Token): void {
    const task = this.tasks.get(token);
    if (!task || task.droppedAt !== undefined) return;
    task.droppedAt = this.nextToken;
    task.droppedIn = this.firstTokenOfPoll;
    this.drops.push(task);
    if (task.kind === 'dequeueEvent') this.queueDrops.push(task);
    const { eventId } = task;
    if (eventId === undefined) return;
    if (task.kind === 'waitExternal') this.positional.markDropped(eventId, this.nextToken);
    if (task.kind !== 'dequeueEvent') return;
    if (this.host.isInScheduleRun()) this.mailboxes.markDropped(eventId, this.nextToken);
    else this.mailboxes.cancel(eventId);
  }
}

/** The failure of a turn whose code cannot go on, if it is so. */
export function panicOf({ finished }: OrchestrationCode): ErrorDetails | undefined {
  return finished?.kind === 'panic' ? panicked(finished.message) : undefined;
}

function isAwaitable(kind: Action['kind']): kind is AwaitableActionKind {
  return (
    kind === 'scheduleActivity' ||
    kind === 'createTimer' ||
    kind === 'waitExternal' ||
    kind === 'dequeueEvent' ||
    kind === 'startSubOrchestration'
  );
}

/** A whole number of ms that a double holds exactly, never before now. */
function deadline(nowMs: number, delayMs: number): number {
  return Math.min(nowMs + Math.max(0, Math.trunc(delayMs)), Number.MAX_SAFE_INTEGER);
}

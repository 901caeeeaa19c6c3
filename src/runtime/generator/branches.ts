import type { EmittedAction } from '../replay/action.js';
import type { Token } from '../replay/driver.js';
import type { Retry } from './retry.js';
import { NO_ATTEMPT_MESSAGE, retryDelayMs, TIMEOUT_MESSAGE } from './retry.js';

/** The outcome of one task, as text. */
export interface Outcome {
  readonly ok: boolean;
  readonly text: string;
}

/** What branches need of the driver. */
export interface Scheduler {
  /** Emits an action; `onOutcome` is called at most once, and never after `drop`. */
  schedule(action: EmittedAction, onOutcome: (outcome: Outcome) => void): Token;
  /** Emits an action that has no outcome. */
  decide(action: EmittedAction): void;
  drop(token: Token): void;
  /** The turn cannot go on. */
  panic(message: string): void;
  warn(message: string): void;
}

/** Work that is under way. */
export interface Branch {
  /** Nobody is interested any more: everything that runs in it is dropped. */
  drop(): void;
}

/**
 * Starts a branch: schedules its first work at once, and calls `done` exactly once,
 * perhaps before it returns, unless it is dropped.
 */
export type StartBranch<T> = (done: (result: T) => void) => Branch;

const NOTHING: Branch = { drop: () => undefined };

/** A branch that has its result already. */
export function resolved<T>(result: T): StartBranch<T> {
  return (done) => {
    done(result);
    return NOTHING;
  };
}

/** One action. */
export function single(scheduler: Scheduler, action: EmittedAction): StartBranch<Outcome> {
  return (done) => {
    const token = scheduler.schedule(action, done);
    return { drop: () => scheduler.drop(token) };
  };
}

/** Waits for all; results in the order of the branches. Counts what is missing instead of looking at all of them. */
export function join<T>(branches: readonly StartBranch<T>[]): StartBranch<T[]> {
  return (done) => {
    const results: T[] = new Array<T>(branches.length);
    const running: Branch[] = [];
    let missing = branches.length;
    // While starting, a result may come at once; the join is done only after all have started.
    let isStarting = true;
    branches.forEach((start, index) => {
      const branch = start((result) => {
        results[index] = result;
        if (--missing === 0 && !isStarting) done(results);
      });
      running.push(branch);
    });
    isStarting = false;
    if (missing === 0) done(results);
    return { drop: () => running.forEach((branch) => branch.drop()) };
  };
}

/** The first result wins and the others are dropped; of two that are ready at once, the lower one wins. */
export function race<T>(branches: readonly StartBranch<T>[]): StartBranch<{ index: number; value: T }> {
  return (done) => {
    const running = new Map<number, Branch>();
    let isOver = false;
    const dropAll = (): void => {
      isOver = true;
      for (const branch of running.values()) branch.drop();
      running.clear();
    };
    for (const [index, start] of branches.entries()) {
      const branch = start((value) => {
        if (isOver) return;
        running.delete(index);
        dropAll();
        done({ index, value });
      });
      // A branch behind one that is ready at once is never begun, so nothing of it is scheduled.
      if (isOver) break;
      running.set(index, branch);
    }
    return { drop: dropAll };
  };
}

/** An activity that is repeated: ordinary activities and timers, nothing of its own in history. */
export function withRetry(
  scheduler: Scheduler,
  activity: Extract<EmittedAction, { kind: 'scheduleActivity' }>,
  retry: Retry,
): StartBranch<Outcome> {
  return (done) => {
    if (retry.maxAttempts < 1) {
      scheduler.panic(NO_ATTEMPT_MESSAGE);
      return NOTHING;
    }
    let current: Branch = NOTHING;
    let isDropped = false;
    const attempt = (number: number): void => {
      current = oneAttempt(
        scheduler,
        activity,
        retry.timeoutMs,
      )((result) => {
        if (isDropped) return;
        if (result.ok || result.timedOut || number >= retry.maxAttempts) {
          done({ ok: result.ok, text: result.text });
          return;
        }
        scheduler.warn(`activity '${activity.name}' failed in attempt ${number} of ${retry.maxAttempts}, retrying`);
        const delayMs = retryDelayMs(retry.backoff, number);
        if (delayMs === 0) attempt(number + 1);
        else current = single(scheduler, { kind: 'createTimer', delayMs })(() => attempt(number + 1));
      });
    };
    attempt(1);
    return {
      drop: () => {
        isDropped = true;
        current.drop();
      },
    };
  };
}

function oneAttempt(
  scheduler: Scheduler,
  activity: EmittedAction,
  timeoutMs: number | undefined,
): StartBranch<Outcome & { timedOut: boolean }> {
  return (done) => {
    const run = single(scheduler, activity);
    if (timeoutMs === undefined) return run((outcome) => done({ ...outcome, timedOut: false }));
    // The activity stands first: of two that are ready at once it wins.
    const limit = single(scheduler, { kind: 'createTimer', delayMs: timeoutMs });
    return race([run, limit])(({ index, value }) => {
      if (index === 0) done({ ...value, timedOut: false });
      else done({ ok: false, text: TIMEOUT_MESSAGE, timedOut: true });
    });
  };
}

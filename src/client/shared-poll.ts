import type { Clock } from '../base/clock.js';
import { Gate } from '../base/gate.js';
import { onAbort } from '../base/on-abort.js';

/** One caller that waits for an answer. */
interface Waiter<Query, Answer, Value> {
  readonly query: Query;
  /** The value to resolve with, or `undefined` to go on waiting; what it throws rejects this wait alone. */
  readonly accept: (answer: Answer) => Value | undefined;
  readonly timedOut: () => Error;
  readonly deadlineMs: number;
  /** It asked for one look, and waits for its answer however long that takes. */
  readonly isOnce: boolean;
  /** Longest pause between two looks of this waiter. */
  readonly maxStepMs: number;
  /** The same where many wait. */
  readonly maxStepInCrowdMs: number;
  nextAtMs: number;
  stepMs: number;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

/** What a caller waits for. */
export interface Wait<Query, Answer, Value> {
  readonly query: Query;
  readonly accept: (answer: Answer) => Value | undefined;
  /** `Infinity` waits for ever; with 0 it is still looked once, and that look's answer waited for. */
  readonly timeoutMs: number;
  readonly timedOut: () => Error;
  /** Ends the wait: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Pause after the first look; doubles up to `maxStepMs`, and where many wait up to 500 ms.
   * Who gives the same for both is looked for at that interval in any case.
   */
  readonly firstStepMs: number;
  readonly maxStepMs: number;
}

/** Looks of one poll are at least so far apart, whatever the number of waiters. */
const MIN_SPACING_MS = 5;
/** The same while hints arrive: then it is they that bring the news, and polling is the safety net. */
const HINTED_SPACING_MS = 20;
/** How long after a hint more hints are expected. */
const HINT_MEMORY_MS = 5_000;
/** One statement asks for at most so many. */
const MAX_QUERIES = 2_500;
/** From so many waiters on, those who have waited for a while look at the same moments, and less often. */
const CROWD = 10;
const CROWD_STEP_MS = 500;
/** How long after its deadline a waiter still hopes for its last look; a store that answers does it in far less. */
const LAST_LOOK_MS = 100;

/**
 * One loop for all who wait: whoever is due is asked for in a single statement, so
 * waiting costs a query per look and not one per waiter. Runs only while somebody waits.
 */
export class SharedPoll<Query, Answer> {
  /** Whoever was asked for longest ago stands in front, so that each has its turn. */
  private readonly waiters = new Set<Waiter<Query, Answer, unknown>>();
  private readonly byQuery = new Map<Query, Set<Waiter<Query, Answer, unknown>>>();
  /** Those that were never asked for. */
  private readonly fresh = new Set<Waiter<Query, Answer, unknown>>();
  /** Those that a hint concerns: they are asked for before all others. */
  private readonly hinted = new Set<Waiter<Query, Answer, unknown>>();
  private readonly gate: Gate;
  /** Where a look waits for its answer, or for the deadline of somebody who waits. */
  private readonly answerGate: Gate;
  private overdueAtMs = -Infinity;
  private running = false;
  private lastHintAtMs = -Infinity;
  private lastLookAtMs = -Infinity;
  /**
   * Until then none of those that were asked for is due by time, and nobody's deadline comes: thousands
   * who wait are gone through only when it has come. Early when those who set it wait no more.
   */
  private restsUntilMs = Infinity;
  private noDeadlineUntilMs = Infinity;

  constructor(
    private readonly clock: Clock,
    /** Answers in the order of the queries. */
    private readonly read: (queries: readonly Query[]) => Promise<readonly Answer[]>,
    /** Called when somebody begins to wait, e.g. to subscribe to hints; its answer, when nobody waits any more. */
    private readonly whileWaiting: () => () => void = () => () => undefined,
    /** Throws when the caller must not wait here: the looks are shared, and one could wait for another's. */
    private readonly admit: () => void = () => undefined,
  ) {
    this.gate = new Gate(clock);
    this.answerGate = new Gate(clock);
  }

  /** Resolves with what `accept` returned, or rejects: with what it threw, in time by `timedOut`, at once when reading fails. */
  wait<Value>(wait: Wait<Query, Answer, Value>): Promise<Value> {
    const { signal } = wait;
    return new Promise<Value>((settle, refuse) => {
      this.admit();
      if (signal?.aborted) return refuse(abortReason(signal));
      const stopListening =
        signal &&
        onAbort(signal, () => this.end(waiter as Waiter<Query, Answer, unknown>, () => reject(abortReason(signal))));
      const resolve = (value: Value) => {
        stopListening?.();
        settle(value);
      };
      const reject = (error: Error) => {
        stopListening?.();
        refuse(error);
      };
      const nowMs = this.clock.nowMs();
      const waiter: Waiter<Query, Answer, Value> = {
        query: wait.query,
        accept: wait.accept,
        timedOut: wait.timedOut,
        deadlineMs: nowMs + wait.timeoutMs,
        isOnce: wait.timeoutMs <= 0,
        maxStepMs: wait.maxStepMs,
        maxStepInCrowdMs:
          wait.firstStepMs === wait.maxStepMs ? wait.maxStepMs : Math.max(wait.maxStepMs, CROWD_STEP_MS),
        nextAtMs: nowMs,
        stepMs: wait.firstStepMs,
        resolve,
        reject,
      };
      this.add(waiter as Waiter<Query, Answer, unknown>);
      if (waiter.deadlineMs < this.overdueAtMs) this.answerGate.wake();
      this.look();
    });
  }

  /** Something happened: those who wait for one of the queries, or whose query `concerned` names, look again at once. */
  hint(concerned: Iterable<Query> | ((query: Query) => boolean)): void {
    this.lastHintAtMs = this.clock.nowMs();
    if (typeof concerned === 'function') {
      for (const waiter of this.waiters) if (concerned(waiter.query)) this.hinted.add(waiter);
    } else {
      for (const query of concerned) for (const waiter of this.byQuery.get(query) ?? []) this.hinted.add(waiter);
    }
    if (this.hinted.size > 0) this.look();
  }

  /** Here are answers that nobody has to look for; those whom one satisfies are done. */
  tell(answers: ReadonlyMap<Query, Answer>): void {
    this.lastHintAtMs = this.clock.nowMs();
    for (const [query, answer] of answers) {
      for (const waiter of this.byQuery.get(query) ?? []) this.accept(waiter, answer);
    }
  }

  private add(waiter: Waiter<Query, Answer, unknown>): void {
    this.waiters.add(waiter);
    this.fresh.add(waiter);
    const others = this.byQuery.get(waiter.query);
    if (others) others.add(waiter);
    else this.byQuery.set(waiter.query, new Set([waiter]));
    this.noDeadlineUntilMs = Math.min(this.noDeadlineUntilMs, waiter.deadlineMs);
  }

  private look(): void {
    this.gate.wake();
    if (!this.running) void this.run();
  }

  private async run(): Promise<void> {
    this.running = true;
    const stopHints = this.whileWaiting();
    // Callers of the same tick share the first look.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiters.size > 0) {
      this.gate.reset();
      const pauseMs = this.nextAtMs() - this.clock.nowMs();
      if (pauseMs > 0) await this.gate.wait(pauseMs);
      else await this.lookOnce();
    }
    stopHints();
    this.running = false;
  }

  /** When to look next. A hint is followed at once; what is due by time keeps the spacing. */
  private nextAtMs(): number {
    if (this.hinted.size > 0) return -Infinity;
    const earliest = this.fresh.size > 0 ? -Infinity : this.restsUntilMs;
    const hintsExpected = this.clock.nowMs() - this.lastHintAtMs < HINT_MEMORY_MS;
    const spaced = Math.max(earliest, this.lastLookAtMs + (hintsExpected ? HINTED_SPACING_MS : MIN_SPACING_MS));
    return Math.min(spaced, this.noDeadlineUntilMs);
  }

  private async lookOnce(): Promise<void> {
    const nowMs = this.clock.nowMs();
    const due = this.takeDue(nowMs);
    // Whoever set the time waits no more.
    if (due.length === 0) return;
    this.lastLookAtMs = nowMs;
    let answers: readonly Answer[];
    try {
      answers = await this.answersTo(due, nowMs);
    } catch (error) {
      for (const waiter of due) this.end(waiter, () => waiter.reject(error as Error));
      return;
    }
    const afterMs = this.clock.nowMs();
    due.forEach((waiter, index) => {
      if (this.accept(waiter, answers[index] as Answer)) return;
      if (afterMs >= waiter.deadlineMs) this.end(waiter, () => waiter.reject(waiter.timedOut()));
      else {
        waiter.nextAtMs = Math.min(this.afterPause(waiter, afterMs), waiter.deadlineMs);
        waiter.stepMs = Math.min(waiter.stepMs * 2, waiter.maxStepMs);
        this.restsUntilMs = Math.min(this.restsUntilMs, waiter.nextAtMs);
      }
    });
  }

  /** Whether the wait is over. One that throws at its answer ends alone: the look is everybody's. */
  private accept(waiter: Waiter<Query, Answer, unknown>, answer: Answer): boolean {
    try {
      const value = waiter.accept(answer);
      if (value === undefined) return false;
      this.end(waiter, () => waiter.resolve(value));
    } catch (error) {
      this.end(waiter, () => waiter.reject(error as Error));
    }
    return true;
  }

  /** Asks the store. A store that is silent keeps nobody beyond its time: deadlines hold meanwhile, by one timer for all. */
  private async answersTo(
    due: readonly Waiter<Query, Answer, unknown>[],
    beganAtMs: number,
  ): Promise<readonly Answer[]> {
    let isAnswered = false;
    const reading = this.read(due.map(({ query }) => query)).finally(() => {
      isAnswered = true;
      this.answerGate.wake();
    });
    // Its failure is met below, after the last deadline that passes meanwhile.
    reading.catch(() => undefined);
    const asked = new Set(due);
    while (!isAnswered) {
      this.answerGate.reset();
      const nowMs = this.clock.nowMs();
      this.overdueAtMs = this.noDeadlineUntilMs <= nowMs ? Infinity : this.noDeadlineUntilMs;
      for (const waiter of this.noDeadlineUntilMs <= nowMs ? this.waiters : []) {
        const overdueAtMs = overdueAt(waiter, asked.has(waiter) && beganAtMs < waiter.deadlineMs);
        if (overdueAtMs <= nowMs) this.end(waiter, () => waiter.reject(waiter.timedOut()));
        else if (overdueAtMs < this.overdueAtMs) this.overdueAtMs = overdueAtMs;
      }
      await this.answerGate.wait(this.overdueAtMs - nowMs);
    }
    this.overdueAtMs = -Infinity;
    return reading;
  }

  /** A crowd that has waited for a while meets at multiples of its step, so that one look serves all of it. */
  private afterPause({ stepMs, maxStepMs, maxStepInCrowdMs }: Waiter<Query, Answer, unknown>, nowMs: number): number {
    if (this.waiters.size < CROWD || stepMs < maxStepMs || maxStepInCrowdMs === 0) return nowMs + stepMs;
    return (Math.floor(nowMs / maxStepInCrowdMs) + 1) * maxStepInCrowdMs;
  }

  /** As many as one statement may ask for; they go to the end of the line. */
  private takeDue(nowMs: number): Waiter<Query, Answer, unknown>[] {
    const due = new Set([...this.hinted].slice(0, MAX_QUERIES));
    const isSomebodyDue = Math.min(this.restsUntilMs, this.noDeadlineUntilMs) <= nowMs;
    if (isSomebodyDue) this.restsUntilMs = this.noDeadlineUntilMs = Infinity;
    for (const waiter of isSomebodyDue ? this.waiters : this.fresh) {
      const isDue = waiter.nextAtMs <= nowMs || waiter.deadlineMs <= nowMs;
      if (isDue && due.size < MAX_QUERIES) due.add(waiter);
      else if (!this.fresh.has(waiter)) this.restsUntilMs = Math.min(this.restsUntilMs, waiter.nextAtMs);
      this.noDeadlineUntilMs = Math.min(this.noDeadlineUntilMs, waiter.deadlineMs);
    }
    for (const waiter of due) {
      this.hinted.delete(waiter);
      this.fresh.delete(waiter);
      this.waiters.delete(waiter);
      this.waiters.add(waiter);
    }
    return [...due];
  }

  private end(waiter: Waiter<Query, Answer, unknown>, settle: () => void): void {
    if (!this.waiters.delete(waiter)) return;
    this.hinted.delete(waiter);
    this.fresh.delete(waiter);
    const others = this.byQuery.get(waiter.query);
    others?.delete(waiter);
    if (others?.size === 0) this.byQuery.delete(waiter.query);
    settle();
    // Whoever sleeps for the last waiter has nothing left to do.
    if (this.waiters.size === 0) this.gate.wake();
  }
}

/**
 * When a waiter gives up while the store has not answered: at its deadline if it is asked for, its last look being
 * under way; else that look is only due, and has a moment.
 */
function overdueAt(
  { deadlineMs, isOnce }: Pick<Waiter<unknown, unknown, unknown>, 'deadlineMs' | 'isOnce'>,
  isAskedInTime: boolean,
): number {
  if (isOnce) return Infinity;
  return isAskedInTime ? deadlineMs : deadlineMs + LAST_LOOK_MS;
}

function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(`the wait was aborted: ${String(reason)}`);
}

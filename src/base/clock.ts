/** Longest delay of `setTimeout`; above it Node fires after 1 ms (C-08). */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** What the machine says. A skew test replaces it; production uses {@link systemHostClock}. */
export interface HostClock {
  /** Unix ms. May jump when the host's time is set. */
  nowMs(): number;
  /** Milliseconds since some fixed moment; never jumps. */
  monotonicMs(): number;
}

/**
 * The time the library works with: whole Unix milliseconds, one source for
 * `visible_at`, lock times, event stamps and timers (provider.md 3.0).
 */
export interface Clock {
  nowMs(): number;
  /** Resolves after `ms` of this clock's time, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A pending call of {@link setLongTimeout}. */
export interface TimerHandle {
  cancel(): void;
}

export const systemHostClock: HostClock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * Calls back after `ms` of real time, however long that is: delays beyond 2^31−1 ms
 * are cut into pieces. The timer does not keep the process alive when `unref` is set.
 */
export function setLongTimeout(callback: () => void, ms: number, unref = false): TimerHandle {
  let remaining = Math.max(0, ms);
  let timer: NodeJS.Timeout;
  const arm = () => {
    const piece = Math.min(remaining, MAX_TIMEOUT_MS);
    remaining -= piece;
    timer = setTimeout(remaining > 0 ? arm : callback, piece);
    if (unref) timer.unref();
  };
  arm();
  return { cancel: () => clearTimeout(timer) };
}

/** Resolves after `ms` of real time, or rejects with the reason of `signal`. */
export function sleepReal(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(asError(signal.reason));
    const onAbort = () => {
      handle.cancel();
      reject(asError(signal?.reason));
    };
    const handle = setLongTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted');
}

/** The host's time as it is, without correction against a database. */
export class SystemClock implements Clock {
  constructor(private readonly host: HostClock = systemHostClock) {}

  nowMs(): number {
    return Math.floor(this.host.nowMs());
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepReal(ms, signal);
  }
}

/** A clock that stands still until a test moves it. Given as `clock` it is final: nothing corrects it. */
export class FakeClock implements Clock {
  private sleepers: { atMs: number; wake: () => void }[] = [];

  constructor(private current = 1_800_000_000_000) {}

  nowMs(): number {
    return this.current;
  }

  /** How many callers wait in {@link sleep}. */
  get sleeping(): number {
    return this.sleepers.length;
  }

  /** The moment of the earliest sleeper, if any. */
  get nextWakeAtMs(): number | undefined {
    return this.sleepers.reduce<number | undefined>(
      (least, { atMs }) => (least === undefined || atMs < least ? atMs : least),
      undefined,
    );
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(asError(signal.reason));
      const onAbort = () => {
        this.sleepers = this.sleepers.filter((sleeper) => sleeper !== entry);
        reject(asError(signal?.reason));
      };
      const entry = {
        atMs: this.current + Math.max(0, ms),
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.sleepers.push(entry);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Moves the time forward and wakes, in order, whoever slept until then. */
  advance(ms: number): void {
    this.set(this.current + ms);
  }

  /** Sets the time; going back wakes nobody. */
  set(nowMs: number): void {
    this.current = nowMs;
    const due = this.sleepers.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
    this.sleepers = this.sleepers.filter(({ atMs }) => atMs > nowMs);
    for (const { wake } of due) wake();
  }
}

/** Withdraws the interest in a call: the method of `ctx.race` and its like, not of users. */
export const CANCEL: unique symbol = Symbol('duroxide-drizzle.cancel');

/** What a generator hands to its driver when it waits; made by `yield*` on a {@link DurableCall}. */
export interface Durable {
  readonly [AWAITED]: Promise<unknown>;
}

/** Where the driver of generators finds the promise. @internal */
export const AWAITED: unique symbol = Symbol('duroxide-drizzle.awaited');

/**
 * The promise of a durable call. It survives crashes: after a restart the code comes to
 * the same place again and awaits the same outcome. `Promise.all` and its like take it
 * as any promise; `ctx.race`, `ctx.select` and `ctx.withTimeout` also cancel it.
 * In a generator `yield* call` waits for it.
 */
export interface DurableCall<T> extends Promise<T> {
  [CANCEL](): void;
  [Symbol.iterator](): Generator<Durable, T, unknown>;
}

/** Makes a promise cancellable. A rejection that nobody has awaited yet is no accident here (runtime.md 3.0). */
export function durableCall<T>(promise: Promise<T>, cancel: () => void): DurableCall<T> {
  promise.catch(() => {});
  return Object.assign(promise, { [CANCEL]: cancel, [Symbol.iterator]: () => waitFor(promise) });
}

/** Cancels what can be cancelled: a plain promise, such as one of a helper function, is left alone. */
export function cancelCall(call: Promise<unknown>): void {
  (call as Partial<DurableCall<unknown>>)[CANCEL]?.();
}

function* waitFor<T>(promise: Promise<T>): Generator<Durable, T, unknown> {
  return (yield { [AWAITED]: promise }) as T;
}

/** Steps that mostly run through, and now and then hand out a promise to be waited for. */
export type Steps<T> = Generator<Promise<void>, T, void>;

/**
 * Runs the steps to their end: at once where no promise is met, so that synchronous
 * drivers never pay for a tick. A rejection is thrown into the steps at the place of the promise.
 */
export function drive<T>(steps: Steps<T>): T | Promise<T> {
  const first = steps.next();
  return first.done ? first.value : driveOn(steps, first.value);
}

async function driveOn<T>(steps: Steps<T>, firstPending: Promise<void>): Promise<T> {
  let pending = firstPending;
  for (;;) {
    let failure: { readonly error: unknown } | undefined;
    try {
      await pending;
    } catch (error) {
      failure = { error };
    }
    const next = failure ? steps.throw(failure.error) : steps.next();
    if (next.done) return next.value;
    pending = next.value;
  }
}

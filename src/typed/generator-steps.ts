import type { OrchestrationSteps } from './definitions.js';
import { AWAITED, type Durable } from './durable-call.js';

/** Whether a handler was a generator function. */
export function isSteps<Out>(made: Promise<Out> | OrchestrationSteps<Out>): made is OrchestrationSteps<Out> {
  return typeof (made as { readonly then?: unknown } | null)?.then !== 'function' && Symbol.iterator in Object(made);
}

/**
 * Runs a generator as an async function would run: what `yield*` waits for is awaited.
 * @throws TypeError for a `yield` without a star: its value has no type, and often is a mistake
 */
export async function runSteps<Out>(steps: OrchestrationSteps<Out>): Promise<Out> {
  let step = steps.next();
  while (!step.done) {
    const awaited = (step.value as Partial<Durable> | undefined)?.[AWAITED];
    if (!awaited) throw new TypeError('an orchestration waits with `yield* ctx.…`, and got a `yield` without the star');
    let value: unknown;
    try {
      value = await awaited;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value as never);
  }
  return step.value;
}

import type { DurableCall } from './durable-call.js';
import { cancelCall, durableCall } from './durable-call.js';

/** What `ctx.all` and its like take: durable calls, or promises made of them. */
export type Tasks = readonly Promise<unknown>[] | readonly [];

/** A task's key, or its index, and what it resolved to. */
export type Selected<T extends Readonly<Record<string, Promise<unknown>>>> = {
  [K in keyof T & string]: { readonly key: K; readonly value: Awaited<T[K]> };
}[keyof T & string];

/** See `ctx.race`. @throws TypeError for no tasks: nothing could ever end the wait */
export function raceOf<T extends Tasks>(tasks: T): DurableCall<Awaited<T[number]>> {
  if (tasks.length === 0) throw new TypeError('race: expected at least one task, got none');
  let isOver = false;
  const others = (winner: number) => tasks.forEach((task, i) => i !== winner && cancelCall(task));
  const first = new Promise<Awaited<T[number]>>((resolve, reject) => {
    tasks.forEach((task, i) => {
      const wins = (settle: () => void) => {
        if (isOver) return;
        isOver = true;
        others(i);
        settle();
      };
      task.then(
        (value) => wins(() => resolve(value as Awaited<T[number]>)),
        (error: Error) => wins(() => reject(error)),
      );
    });
  });
  return durableCall(first, () => others(-1));
}

/** See `ctx.select`. */
export function selectOf<T extends Readonly<Record<string, Promise<unknown>>>>(tasks: T): DurableCall<Selected<T>> {
  const entries = Object.entries(tasks);
  const race = raceOf(entries.map(([key, task]) => carryCancel(task, (value) => ({ key, value }))));
  return race as unknown as DurableCall<Selected<T>>;
}

/** See `ctx.all`. */
export function allOf<T extends Tasks>(tasks: T): DurableCall<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  return durableCall(Promise.all(tasks), () => tasks.forEach(cancelCall));
}

/** See `ctx.allSettled`. */
export function allSettledOf<T extends Tasks>(
  tasks: T,
): DurableCall<{ -readonly [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> }> {
  return durableCall(Promise.allSettled(tasks), () => tasks.forEach(cancelCall));
}

/** The same task with another value; cancelling it cancels the original. */
export function carryCancel<T, U>(task: Promise<T>, map: (value: T) => U): DurableCall<U> {
  return durableCall(task.then(map), () => cancelCall(task));
}

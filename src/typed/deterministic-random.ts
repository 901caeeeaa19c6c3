import { fnv1a64 } from '../base/fnv1a.js';

/**
 * A generator of numbers in [0, 1) that gives the same sequence whenever the same
 * execution is replayed: seeded by its identity, no event in history. Not for secrets.
 */
export function deterministicRandom(instance: string, executionId: number): () => number {
  // mulberry32: small, fast, and good enough for jitter and sampling.
  let state = Number(fnv1a64(`${executionId}:${instance}`) & 0xffffffffn);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

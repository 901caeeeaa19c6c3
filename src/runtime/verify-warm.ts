import { isDeepStrictEqual } from 'node:util';
import type { TurnOutcome } from './replay/turn.js';

/** What a turn commits, and what must not depend on how it was run. */
const DECISIONS = [
  'result',
  'executionId',
  'historyDelta',
  'workerItems',
  'orchestratorItems',
  'cancelledActivities',
  'metadata',
] as const;

/** The first part in which two turns decided differently, or `undefined`. */
export function firstDifference(warm: TurnOutcome, cold: TurnOutcome): string | undefined {
  return DECISIONS.find((part) => !isDeepStrictEqual(plain(warm[part]), plain(cold[part])));
}

/**
 * Without the difference between an absent and an undefined field, which is never stored,
 * and without the stacks of errors: they name the frames of whoever resumed the code.
 */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, part: unknown) => {
    return typeof part === 'string' ? part.replace(/\n\s+at [^]*$/, '') : part;
  });
  return JSON.parse(text);
}

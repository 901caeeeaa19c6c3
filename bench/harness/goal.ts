import { short } from './table.js';

/** A figure that was asked for, and what it should be. */
export interface Goal {
  readonly text: string;
  readonly value: number;
  readonly met: boolean;
}

/** A goal that a figure should reach or exceed. */
export function atLeast(text: string, value: number, limit: number): Goal {
  return { text: `${text}: at least ${limit}`, value, met: Number.isFinite(value) && value >= limit };
}

/** A goal that a figure should not exceed. */
export function atMost(text: string, value: number, limit: number): Goal {
  return { text: `${text}: at most ${limit}`, value, met: Number.isFinite(value) && value <= limit };
}

export function printGoals(goals: readonly Goal[]): void {
  for (const { text, value, met } of goals) console.log(`  ${met ? 'met   ' : 'MISSED'} ${text} (${short(value)})`);
}

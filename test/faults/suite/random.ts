import { seededRandom } from '../../support/seeded-random.js';

/** Choices from one seed. */
export class Random {
  private readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.next() * choices.length)] ?? choices[0];
  }

  weighted<T>(choices: readonly (readonly [T, number])[]): T {
    let at = this.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [choice, weight] of choices) if ((at -= weight) < 0) return choice;
    throw new Error('no choices');
  }
}

/** Real time: the faults of this suite happen in it. */
export function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
}

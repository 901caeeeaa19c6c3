/** Numbers from a seed (mulberry32), so that a failing sequence can be run again. */
export class SeededRandom {
  constructor(private state: number) {}

  /** In `[0, 1)`. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From 0 to `bound − 1`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** From `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError('nothing to choose from');
    return choices[this.below(choices.length)] as T;
  }

  /** One of the keys, as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    return (entries.at(-1) as [K, number])[0];
  }

  /** `least` to `most` values. */
  several<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: this.between(least, most) }, make);
  }
}

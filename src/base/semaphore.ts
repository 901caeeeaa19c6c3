/** Lets up to `size` callers in at a time; the others wait in the order in which they came. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async run<T>(use: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await use();
    } finally {
      const next = this.waiting.shift();
      // The place goes from hand to hand: nobody who comes meanwhile can take it.
      if (next) next();
      else this.free += 1;
    }
  }
}

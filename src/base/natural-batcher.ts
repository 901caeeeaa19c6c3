/** How a {@link NaturalBatcher} sends. */
export interface BatcherOptions<In, Out> {
  /** Sends a batch; answers in the order of the input. */
  readonly flush: (batch: readonly In[]) => Promise<readonly Out[]>;
  /** What every element of a batch is told when `flush` rejects. */
  readonly failed: (error: unknown) => Out;
  /** Most elements of one batch. */
  readonly maxElements: number;
  /** Batches in flight at once. @defaultValue 1 */
  readonly maxInFlight?: number;
}

/** Called once with what became of an element; must not throw. */
export type Settle<Out> = (result: Out) => void;

/**
 * Batches by itself: flushes at once when nothing is in flight, and otherwise collects
 * until the flush in flight answers. A lone element pays no waiting; under load one
 * flush carries everything that came up meanwhile.
 */
export class NaturalBatcher<In, Out> {
  private elements: In[] = [];
  private settles: Settle<Out>[] = [];
  private inFlight = 0;
  private unsettled = 0;
  private scheduled = false;
  private idleWaiters: (() => void)[] = [];

  constructor(private readonly options: BatcherOptions<In, Out>) {}

  /** Elements that wait or are in flight. */
  get pending(): number {
    return this.unsettled;
  }

  submit(element: In, settle: Settle<Out>): void {
    this.elements.push(element);
    this.settles.push(settle);
    this.unsettled += 1;
    this.schedule();
  }

  send(element: In): Promise<Out> {
    return new Promise((resolve) => this.submit(element, resolve));
  }

  /** Resolves as soon as nothing waits and nothing is in flight. */
  idle(): Promise<void> {
    if (this.unsettled === 0) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  private schedule(): void {
    if (this.scheduled || this.elements.length === 0 || this.inFlight >= (this.options.maxInFlight ?? 1)) return;
    this.scheduled = true;
    // After the microtasks that run now: a whole batch of turns, or handlers that all end
    // in this tick, leave together, and no lap of the event loop is lost.
    queueMicrotask(() => process.nextTick(this.flushWaiting));
  }

  private readonly flushWaiting = (): void => {
    this.scheduled = false;
    if (this.elements.length === 0) return;
    const { maxElements } = this.options;
    const everything = this.elements.length <= maxElements;
    const elements = everything ? this.elements : this.elements.slice(0, maxElements);
    const settles = everything ? this.settles : this.settles.slice(0, maxElements);
    this.elements = everything ? [] : this.elements.slice(maxElements);
    this.settles = everything ? [] : this.settles.slice(maxElements);
    this.inFlight += 1;
    void this.run(elements, settles);
    this.schedule();
  };

  private async run(elements: readonly In[], settles: readonly Settle<Out>[]): Promise<void> {
    let results: readonly Out[];
    try {
      results = await this.options.flush(elements);
      if (results.length !== settles.length) {
        throw new Error(`${settles.length} elements were answered with ${results.length} results`);
      }
    } catch (error) {
      const failure = this.options.failed(error);
      results = settles.map(() => failure);
    }
    this.inFlight -= 1;
    this.unsettled -= settles.length;
    settles.forEach((settle, index) => settle(results[index] as Out));
    this.schedule();
    if (this.unsettled === 0) {
      const waiters = this.idleWaiters;
      this.idleWaiters = [];
      for (const resolve of waiters) resolve();
    }
  }
}

import type { ActivityRow } from './activity-run.js';

/** The activity rows whose lock this process holds, from the fetch until they are settled. */
export class HeldRows {
  private readonly rows = new Set<ActivityRow>();
  private waiting = 0;
  private own = 0;
  private quietWaiters: (() => void)[] = [];

  get size(): number {
    return this.rows.size;
  }

  /** Of them, those that wait for a slot. */
  get waitingCount(): number {
    return this.waiting;
  }

  /** Of them, those that came with turns of this process. */
  get ownCount(): number {
    return this.own;
  }

  add(activity: ActivityRow): void {
    this.rows.add(activity);
    if (activity.isOwn) this.own += 1;
  }

  /** It may run, as soon as there is a slot. */
  admitted(): void {
    this.waiting += 1;
  }

  /** One that was admitted has got its slot. */
  started(): void {
    this.waiting -= 1;
  }

  isWaiting(activity: ActivityRow): boolean {
    return activity.state === 'waiting' && this.rows.has(activity);
  }

  has(activity: ActivityRow): boolean {
    return this.rows.has(activity);
  }

  /** Takes out of the line what has not started; the rows are still held. */
  withdraw(matches: (activity: ActivityRow) => boolean): ActivityRow[] {
    const taken = [...this.rows].filter((activity) => activity.state === 'waiting' && matches(activity));
    this.waiting -= taken.length;
    for (const activity of taken) activity.state = 'settling';
    return taken;
  }

  delete(activity: ActivityRow): void {
    if (this.rows.delete(activity) && activity.isOwn) this.own -= 1;
  }

  /** To be called when a row was deleted and everybody knows. */
  tellWhoeverWaits(): void {
    if (this.rows.size > 0 || this.quietWaiters.length === 0) return;
    const waiters = this.quietWaiters;
    this.quietWaiters = [];
    for (const resolve of waiters) resolve();
  }

  /** Resolves when nothing is held: no activity waits, runs or is being settled. */
  async quiet(): Promise<void> {
    while (this.rows.size > 0) await new Promise<void>((resolve) => this.quietWaiters.push(resolve));
  }
}

import { sql } from 'drizzle-orm';
import type { Step } from './operations/run-together.js';
import { compile, noRow } from './statement.js';

/** Placeholders `channel` and `payload`. */
export const notify = compile(sql`select pg_notify(${sql.placeholder('channel')}, ${sql.placeholder('payload')})`, noRow);

/**
 * A notification that travels with the transaction of which it tells: one of its own would be a
 * round trip more, and wait for the disk once more.
 */
export class Notice {
  private used = false;

  constructor(
    private readonly channel: string,
    private readonly payload: string,
    private readonly released: (isSent: boolean) => void,
  ) {}

  /** A transaction took it along: if that was committed, nothing need be sent afterwards. */
  get isUsed(): boolean {
    return this.used;
  }

  step(): Step {
    this.used = true;
    return { statement: notify, values: { channel: this.channel, payload: this.payload } };
  }

  /** To be called when its transaction has ended, or there was none. */
  release(): void {
    this.released(this.used);
  }
}

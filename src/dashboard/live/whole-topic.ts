import type { Clock } from '../../base/clock.js';
import type { LiveMessages } from '../views.js';
import { type LiveTask, Topic } from './topic.js';

/** A store is read for a page at most for one twentieth of the time. */
const REST_FACTOR = 20;

/** Messages that hold all that a page shows. */
type WholeName = 'list' | 'schedules' | 'queues';
type Whole<Name extends WholeName> = Omit<LiveMessages[Name], 'nowMs'>;

export interface WholeReading<Name extends WholeName> {
  /** What it is published as. */
  readonly name: Name;
  readonly clock: Clock;
  /** From the beginning of a reading to the next one, in ms. */
  readonly everyMs: number;
  /** As {@link LiveTask.statements}. */
  readonly statements: number;
  /** The store's time. */
  readonly nowMs: () => number;
  /** All of it; `undefined`: no news, whatever it is. */
  readonly read: () => Promise<Whole<Name> | undefined>;
}

/** Something that is read as a whole, again and again. Says something only when it changed. */
export class WholeTopic<Name extends WholeName> extends Topic {
  readonly tasks: readonly LiveTask[];
  private last = '';

  constructor(reading: WholeReading<Name>) {
    super();
    const { clock, everyMs, statements } = reading;
    const task: LiveTask = {
      dueAtMs: clock.nowMs() + everyMs,
      statements,
      run: async () => {
        const startedAtMs = clock.nowMs();
        task.dueAtMs = startedAtMs + everyMs;
        const whole = await reading.read();
        task.dueAtMs = startedAtMs + Math.max(everyMs, (clock.nowMs() - startedAtMs) * REST_FACTOR);
        if (whole !== undefined) this.say(reading, whole);
      },
    };
    this.tasks = [task];
  }

  private say({ name, nowMs }: WholeReading<Name>, whole: Whole<Name>): void {
    const text = JSON.stringify(whole);
    if (text === this.last) return;
    this.last = text;
    this.publish(name, { ...whole, nowMs: nowMs() } as LiveMessages[Name]);
  }
}

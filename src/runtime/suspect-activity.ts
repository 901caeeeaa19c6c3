import type { ActivityRow } from './activity-run.js';
import type { RuntimeCore } from './core.js';

/**
 * A suspect waits for the activities that run, and is left alone while it runs, for at most
 * so long each: a long activity must not stop the others for ever. In ms.
 */
const PATIENCE_MS = 30_000;

/** What isolation needs to know and to do. */
export interface IsolationParts {
  /** No other activity of this process is in flight. */
  isAlone(): boolean;
  start(activity: ActivityRow): void;
  /** Other activities may be fetched again. */
  over(): void;
}

/**
 * Isolates an activity that may be what killed the process before (runtime.md 1.9): no
 * other one is fetched until it has run, so that it takes none along.
 */
export class SuspectActivity {
  private suspect: { readonly activity: ActivityRow; started: boolean } | undefined;

  constructor(
    private readonly core: RuntimeCore,
    private readonly parts: IsolationParts,
  ) {}

  get present(): boolean {
    return this.suspect !== undefined;
  }

  isolate(activity: ActivityRow): void {
    this.suspect = { activity, started: false };
    this.afterPatience(activity, () => this.start());
    this.check();
  }

  /** Something ended: perhaps the suspect is alone now. */
  check(): void {
    if (this.suspect && !this.suspect.started && this.parts.isAlone()) this.start();
  }

  /** A row is settled; if it is the suspect, the others may go on. */
  released(activity: ActivityRow): void {
    if (this.suspect?.activity === activity) this.end();
    else this.check();
  }

  private start(): void {
    const { suspect } = this;
    if (!suspect || suspect.started) return;
    suspect.started = true;
    this.afterPatience(suspect.activity, () => this.end());
    this.parts.start(suspect.activity);
  }

  private end(): void {
    this.suspect = undefined;
    this.parts.over();
  }

  private afterPatience(activity: ActivityRow, act: () => void): void {
    this.core.clock.sleep(PATIENCE_MS, this.core.stopping).then(
      () => {
        if (this.suspect?.activity === activity) act();
      },
      () => undefined,
    );
  }
}

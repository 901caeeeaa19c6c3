import { errorText } from '../../base/error-text.js';
import { exponentialDelayMs } from '../../base/backoff.js';
import type { Logger } from '../../base/logger.js';
import type { Ms } from '../provider.js';

/** Pauses before a notification that failed is tried again; afterwards polling has to find the news. */
const RETRY_FROM_MS: Ms = 50;
const RETRY_UP_TO_MS: Ms = 2_000;
const SEND_ATTEMPTS = 6;

/**
 * Sends at once, and then at most once per interval. What is requested meanwhile is
 * sent at the end of the interval: none is lost.
 */
export class ThrottledSender {
  private timer: NodeJS.Timeout | undefined;
  private isRequested = false;
  private sending: Promise<void> | undefined;

  constructor(
    private readonly send: () => Promise<unknown>,
    private readonly logger: Logger,
    private readonly intervalMs: () => Ms,
  ) {}

  request(): void {
    this.isRequested = true;
    if (this.timer === undefined && !this.sending) this.start();
  }

  /**
   * Leave to send now by other means, where nothing was sent for an interval and nothing waits. The
   * answer is called when that has ended, with whether it was sent.
   */
  claim(): ((isSent: boolean) => void) | undefined {
    if (this.timer !== undefined || this.sending) return undefined;
    let release: (isSent: boolean) => void = () => undefined;
    this.throttle(new Promise((resolve) => (release = resolve)));
    return release;
  }

  /** Resolves when nothing is held back any more. */
  async flush(): Promise<void> {
    while (this.isRequested || this.sending) {
      if (!this.sending) this.start();
      await this.sending;
    }
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private start(): void {
    clearTimeout(this.timer);
    this.isRequested = false;
    this.throttle(this.sendWithRetries().then(() => true));
  }

  /** Nothing else is sent until this has ended and, if it was sent, the interval is over. */
  private throttle(sending: Promise<boolean>): void {
    const startedAtMs = performance.now();
    this.sending = sending.then((isSent) => {
      this.sending = undefined;
      const restMs = isSent ? startedAtMs + this.intervalMs() - performance.now() : 0;
      this.timer = setTimeout(() => {
        this.timer = undefined;
        if (this.isRequested) this.start();
      }, restMs);
    });
  }

  private async sendWithRetries(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.send();
        return;
      } catch (error) {
        if (attempt === SEND_ATTEMPTS) {
          this.logger.warn({ error: errorText(error) }, 'other processes could not be notified; they find the news by polling');
          return;
        }
        const pauseMs = exponentialDelayMs(RETRY_FROM_MS, attempt, RETRY_UP_TO_MS);
        await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      }
    }
  }
}

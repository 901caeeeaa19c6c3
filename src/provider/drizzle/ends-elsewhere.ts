import { randomBytes } from 'node:crypto';
import { fnv1a32 } from '../../base/fnv1a.js';
import type { Logger } from '../../base/logger.js';
import type { EndElsewhereListener, Ms } from '../provider.js';
import { Notice } from './notice.js';
import { ThrottledSender } from './throttled-sender.js';

/** The first letter says what it is; the sender follows, and of ends one hash for each instance. */
const WANTED = 'i';
const ENDED = 'e';
const DIGITS = 8;
/** A payload of NOTIFY has less than 8,000 bytes. Who is left out is found by polling. */
const MAX_INSTANCES = 800;
/** Who waits says so again after this time, and is believed for three times as long. */
const WANTED_EVERY_MS: Ms = 5_000;
const WANTED_FOR_MS: Ms = 3 * WANTED_EVERY_MS;
/** A lone end is told at once. Where they come in numbers, several make one notification. */
const LONE_INTERVAL_MS: Ms = 10;
const CROWD_INTERVAL_MS: Ms = 50;
/** The connection that listens is kept for so long after the last one has stopped waiting. */
const LINGER_MS: Ms = 30_000;

/** The line to the other processes. */
export interface EndsLine {
  /** Listens from now on, if that is possible; returns the way to stop. */
  hold(): () => void;
  /** Whether notifications arrive. */
  readonly isListening: boolean;
  readonly channel: string;
  send(payload: string): Promise<unknown>;
}

/**
 * Tells processes whose clients wait which instances ended in this one, and hears it from
 * others. Nothing is sent unless somebody has said that he waits. A payload carries hashes,
 * because every role of the database may listen, and ids may say something of people.
 */
export class EndsElsewhere {
  private readonly origin = randomBytes(DIGITS / 2).toString('hex');
  private readonly listeners = new Set<EndElsewhereListener>();
  private readonly ends: ThrottledSender;
  private readonly wish: ThrottledSender;
  private untold: string[] = [];
  private lastTold = 0;
  private othersWaitUntilMs = -Infinity;
  private wishedAtMs = -Infinity;
  private release: (() => void) | undefined;
  private linger: NodeJS.Timeout | undefined;

  constructor(
    private readonly line: EndsLine,
    logger: Logger,
  ) {
    const interval = () => (this.lastTold > 1 ? CROWD_INTERVAL_MS : LONE_INTERVAL_MS);
    this.ends = new ThrottledSender(() => this.sendEnds(), logger, interval);
    this.wish = new ThrottledSender(() => line.send(WANTED + this.origin), logger, () => LONE_INTERVAL_MS);
  }

  /** These have ended by a committed acknowledgement of this process. */
  ended(instances: readonly string[]): void {
    if (performance.now() > this.othersWaitUntilMs) return;
    const room = MAX_INSTANCES - this.untold.length;
    for (const instance of instances.slice(0, room)) this.untold.push(digitsOf(instance));
    this.ends.request();
  }

  /**
   * As {@link ended}, for one instance that a transaction is about to end: what that transaction
   * may send itself. `undefined`: nobody waits, or it is to be told afterwards.
   */
  notice(instance: string): Notice | undefined {
    if (performance.now() > this.othersWaitUntilMs) return undefined;
    const release = this.ends.claim();
    return release && new Notice(this.line.channel, this.payloadOf([digitsOf(instance)]), release);
  }

  /** Somebody waits here. May call back for an instance that has not ended: hashes may be equal. */
  onEnded(listener: EndElsewhereListener): () => void {
    const entry: EndElsewhereListener = (concerns) => listener(concerns);
    this.listeners.add(entry);
    clearTimeout(this.linger);
    this.release ??= this.line.hold();
    this.stillWaiting();
    return () => {
      this.listeners.delete(entry);
      if (this.listeners.size > 0 || !this.release) return;
      clearTimeout(this.linger);
      this.linger = setTimeout(() => this.letGo(), LINGER_MS);
      this.linger.unref();
    };
  }

  /** Whoever waits looks from time to time: the moment to say it again. */
  stillWaiting(): void {
    if (this.listeners.size === 0 || !this.line.isListening) return;
    if (performance.now() - this.wishedAtMs < WANTED_EVERY_MS) return;
    this.wishedAtMs = performance.now();
    this.wish.request();
  }

  /** It listens since this moment: what ended before was not heard. */
  listening(): void {
    this.wishedAtMs = -Infinity;
    this.stillWaiting();
    this.tell(() => true);
  }

  /** Whether the payload was one of ours. */
  receive(payload: string): boolean {
    const kind = payload[0];
    if ((kind !== WANTED && kind !== ENDED) || payload.length < 1 + DIGITS) return false;
    if (payload.slice(1, 1 + DIGITS) === this.origin) return true;
    if (kind === WANTED) {
      this.othersWaitUntilMs = performance.now() + WANTED_FOR_MS;
      return true;
    }
    const ended = new Set<string>();
    for (let at = 1 + DIGITS; at < payload.length; at += DIGITS) ended.add(payload.slice(at, at + DIGITS));
    this.tell((instance) => ended.has(digitsOf(instance)));
    return true;
  }

  /** Sends what is held back. */
  async close(): Promise<void> {
    this.listeners.clear();
    this.letGo();
    await Promise.all([this.ends.flush(), this.wish.flush()]);
  }

  private tell(concerns: (instance: string) => boolean): void {
    for (const listener of this.listeners) listener(concerns);
  }

  private sendEnds(): Promise<unknown> {
    const digits = this.untold;
    this.untold = [];
    this.lastTold = digits.length;
    return this.line.send(this.payloadOf(digits));
  }

  private payloadOf(digits: readonly string[]): string {
    return ENDED + this.origin + digits.join('');
  }

  private letGo(): void {
    clearTimeout(this.linger);
    this.release?.();
    this.release = undefined;
  }
}

function digitsOf(instance: string): string {
  return fnv1a32(instance).toString(16).padStart(DIGITS, '0');
}

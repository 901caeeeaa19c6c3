import { randomUUID } from 'node:crypto';
import { errorText } from '../../base/error-text.js';
import type { Logger } from '../../base/logger.js';
import { notifyChannel } from '../../schema/notify-channel.js';
import type { Ms, QueueName } from '../provider.js';
import { EndsElsewhere } from './ends-elsewhere.js';
import type { Driver, Subscription } from './executor.js';
import { Notice, notify } from './notice.js';
import { ThrottledSender } from './throttled-sender.js';

/** At most one notification per queue in so long: each costs a lock that all databases of the server share. */
const THROTTLE_MS: Ms = 10;
/** How long a notification to ourselves may take; none at all means that the connection cannot listen. */
const ECHO_TIMEOUT_MS: Ms = 10_000;
/** How soon listening is tried again after it was found not to work. */
const DEAF_RETRY_MS: Ms = 300_000;

const PAYLOADS: Readonly<Record<QueueName, string>> = { orchestrator: 'o', worker: 'w' };
const QUEUES: readonly QueueName[] = ['orchestrator', 'worker'];
/** What else changes than the queues of messages. */
export type Topic = 'schedules' | 'startQueues';
const TOPIC_PAYLOADS: Readonly<Record<Topic, string>> = { schedules: 's', startQueues: 'q' };
const TOPICS: readonly Topic[] = ['schedules', 'startQueues'];

/** The notification that says so. */
export function payloadOf(about: QueueName | Topic): string {
  return { ...PAYLOADS, ...TOPIC_PAYLOADS }[about];
}

/**
 * Told that a queue may have work: "look", never "one item". `true` says that this
 * process takes it at once, so that other processes need not be told.
 */
export type WakeUpListener = (queue: QueueName, isFromElsewhere?: boolean) => unknown;

export interface NotificationsOptions {
  readonly schema: string;
  readonly driver: Driver;
  readonly logger: Logger;
  /** `false`: nothing is sent and nobody is listened to. */
  readonly enabled: boolean;
  /** @internal How long a notification to ourselves may take, in ms; tests shorten it. */
  readonly echoTimeoutMs?: Ms | undefined;
}

/**
 * Wake-ups between processes over `LISTEN` and `NOTIFY`, and inside this one without
 * them (provider.md 3.4.10, design 5.4). They only make things faster: whatever gets
 * lost is found by polling.
 */
export class Notifications {
  /** @internal */
  readonly channel: string;
  private readonly listeners = new Set<WakeUpListener>();
  private readonly topicListeners: Readonly<Record<Topic, Set<() => void>>> = {
    schedules: new Set(),
    startQueues: new Set(),
  };
  /** Ends of instances, told to those who wait for them. */
  readonly ends: EndsElsewhere;
  private readonly senders: Readonly<Record<QueueName | Topic, ThrottledSender>>;
  private subscription: Subscription | undefined;
  /** Those who need to listen beside the listeners for wake-ups. */
  private readonly holders = new Set<object>();
  private echo: { readonly payload: string; readonly timer: NodeJS.Timeout } | undefined;
  private retry: NodeJS.Timeout | undefined;
  private listening = false;
  private warned = false;
  private closed = false;

  constructor(private readonly options: NotificationsOptions) {
    this.channel = notifyChannel(options.schema);
    const sender = (about: QueueName | Topic) =>
      new ThrottledSender(
        () => this.send(payloadOf(about)),
        options.logger,
        () => THROTTLE_MS,
      );
    this.senders = {
      orchestrator: sender('orchestrator'),
      worker: sender('worker'),
      schedules: sender('schedules'),
      startQueues: sender('startQueues'),
    };
    this.ends = new EndsElsewhere(this, options.logger);
  }

  /** Whether notifications of other processes arrive. */
  get isListening(): boolean {
    return this.listening;
  }

  /** A row of `queue` became due by a committed transaction of this process. */
  wake(queue: QueueName): void {
    const isTaken = this.tell(queue);
    if (!isTaken && this.options.enabled && !this.closed) this.senders[queue].request();
  }

  /**
   * As {@link wake}, for a transaction that is about to make a row due: what it may send itself.
   * `undefined`: {@link wake} is to be called afterwards, because this process may take the
   * row, or has just told the others.
   */
  notice(queue: QueueName): Notice | undefined {
    if (!this.mayTravelAlong || this.listeners.size > 0 || !this.options.enabled || this.closed) return undefined;
    const release = this.senders[queue].claim();
    return release && new Notice(this.channel, payloadOf(queue), release);
  }

  /** The same for a transaction that is about to end an instance; `undefined`: `ends.ended` is to be called afterwards. */
  noticeOfEnd(instance: string): Notice | undefined {
    return this.mayTravelAlong ? this.ends.notice(instance) : undefined;
  }

  /** Where statements travel one by one, one more would keep a transaction open for longer. */
  private get mayTravelAlong(): boolean {
    return this.options.driver.sendsBatches === true;
  }

  /** Listens from the first listener on, and until the last one goes. */
  onWakeUp(listener: WakeUpListener): () => void {
    // Of its own, so that a function given twice is two listeners.
    const entry: WakeUpListener = (queue, isFromElsewhere) => listener(queue, isFromElsewhere);
    this.listeners.add(entry);
    this.listen();
    return () => {
      this.listeners.delete(entry);
      if (!this.isNeeded) void this.stopListening();
    };
  }

  /** @internal Listens until it is released, also without a listener for wake-ups. */
  hold(): () => void {
    const holder = {};
    this.holders.add(holder);
    this.listen();
    return () => {
      if (this.holders.delete(holder) && !this.isNeeded) void this.stopListening();
    };
  }

  private get isNeeded(): boolean {
    return this.listeners.size > 0 || this.holders.size > 0;
  }

  /** Changed by this process: tells this one and the others. */
  changed(topic: Topic): void {
    this.tellOf(topic);
    if (this.options.enabled && !this.closed) this.senders[topic].request();
  }

  /** Heard of other processes only while somebody listens for wake-ups. */
  onChanged(topic: Topic, listener: () => void): () => void {
    const entry = () => listener();
    this.topicListeners[topic].add(entry);
    return () => void this.topicListeners[topic].delete(entry);
  }

  /** Sends what is held back and stops listening. */
  async close(): Promise<void> {
    this.closed = true;
    this.listeners.clear();
    const told = this.ends.close();
    for (const topic of TOPICS) this.topicListeners[topic].clear();
    await Promise.all([told, ...Object.values(this.senders).map((sender) => sender.flush()), this.stopListening()]);
  }

  private tellOf(topic: Topic): void {
    for (const listener of this.topicListeners[topic]) listener();
  }

  private tell(queue: QueueName, isFromElsewhere = false): boolean {
    let isTaken = false;
    for (const listener of this.listeners) {
      try {
        isTaken = listener(queue, isFromElsewhere) === true || isTaken;
      } catch (error) {
        this.options.logger.error({ error: errorText(error) }, 'a listener for wake-ups failed');
      }
    }
    return isTaken;
  }

  /** @internal */
  send(payload: string): Promise<unknown> {
    return this.options.driver.withConnection((executor) => executor.run(notify, { channel: this.channel, payload }));
  }

  private listen(): void {
    const { driver, enabled } = this.options;
    if (!enabled || this.closed || this.subscription || !driver.listen) return;
    this.subscription = driver.listen(this.channel, {
      onNotification: (payload) => this.receive(payload),
      onConnected: () => this.connected(),
      onLost: (error) => this.lost(error),
    });
  }

  private receive(payload: string): void {
    if (payload === this.echo?.payload) {
      this.forgetEcho();
      this.listening = true;
      this.ends.listening();
      return;
    }
    if (this.ends.receive(payload)) return;
    const topic = TOPICS.find((name) => TOPIC_PAYLOADS[name] === payload);
    if (topic) this.tellOf(topic);
    const queue = QUEUES.find((name) => PAYLOADS[name] === payload);
    if (queue) this.tell(queue, true);
  }

  /** Others may have brought work while nobody listened. And a connection that says LISTEN may still be deaf. */
  private connected(): void {
    for (const queue of QUEUES) this.tell(queue, true);
    for (const topic of TOPICS) this.tellOf(topic);
    this.forgetEcho();
    const payload = randomUUID();
    const { echoTimeoutMs = ECHO_TIMEOUT_MS } = this.options;
    const timer = setTimeout(() => this.giveUpListening('no notification of our own arrived'), echoTimeoutMs);
    timer.unref();
    this.echo = { payload, timer };
    this.send(payload).catch((error: unknown) => {
      // Not the listener's fault; the next connection, or the time-out, decides.
      this.options.logger.debug({ error: errorText(error) }, 'a notification to ourselves could not be sent');
    });
  }

  private lost(error: unknown): void {
    this.listening = false;
    this.forgetEcho();
    this.options.logger.info({ error: errorText(error) }, 'the connection that listens was lost; it is opened again');
  }

  /** Polling finds the work from here on. Behind a pooler in transaction mode this is for good. */
  private giveUpListening(reason: string): void {
    if (!this.warned) {
      this.options.logger.warn(
        { reason },
        'wake-ups by LISTEN do not work on this connection, as behind a pooler in transaction mode: work of other ' +
          'processes is found by polling; set notifications: false to say so from the start',
      );
    }
    this.warned = true;
    void this.stopListening();
    this.retry = setTimeout(() => this.isNeeded && this.listen(), DEAF_RETRY_MS);
    this.retry.unref();
  }

  private async stopListening(): Promise<void> {
    const { subscription } = this;
    this.subscription = undefined;
    this.listening = false;
    this.forgetEcho();
    clearTimeout(this.retry);
    await subscription?.close();
  }

  private forgetEcho(): void {
    clearTimeout(this.echo?.timer);
    this.echo = undefined;
  }
}

import { exponentialDelayMs } from '../../../base/backoff.js';
import type { Ms } from '../../provider.js';
import type { ListenHandlers, Subscription } from '../executor.js';
import { loginOptions, type PgClient, type PgPool } from './node-postgres-client.js';

const RECONNECT_FROM_MS: Ms = 100;
const RECONNECT_UP_TO_MS: Ms = 10_000;
/** A connection that a firewall forgot looks alive for ever; asking is how one finds out. */
const HEARTBEAT_MS: Ms = 30_000;
const HEARTBEAT_TIMEOUT_MS: Ms = 10_000;
/** How long the server may take to take its leave. */
const END_TIMEOUT_MS: Ms = 1_000;

/**
 * Listens on a connection of its own, made with the pool's options but never taken from
 * it, and opens another whenever it is lost (C-13).
 */
export class PgListener implements Subscription {
  private client: PgClient | undefined;
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private closed = false;
  private connecting: Promise<void>;
  private isConnecting = false;

  constructor(
    private readonly pool: PgPool,
    private readonly channel: string,
    private readonly handlers: ListenHandlers,
  ) {
    this.connecting = this.connect();
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.timer);
    // A connection that is not made yet is wanted by nobody any more, and may never be made.
    if (this.isConnecting) cut(this.client, 'the subscription was closed');
    await this.connecting;
    await endQuietly(this.client);
  }

  private async connect(): Promise<void> {
    const client = new this.pool.Client(listenerOptions(this.pool));
    const lost = (error: Error) => this.lost(client, error);
    // Before anything else: an error without a listener would end the process.
    client.on('error', lost);
    client.on('end', () => lost(new Error('the connection ended')));
    client.on('notification', ({ channel, payload }) => {
      if (channel === this.channel && !this.closed) this.handlers.onNotification(payload ?? '');
    });
    this.client = client;
    this.isConnecting = true;
    const giveUp = this.giveUpAfterSilence(client);
    try {
      await client.connect();
      client.unref?.();
      await client.query(`LISTEN "${this.channel}"`);
    } catch (error) {
      lost(error as Error);
      return;
    } finally {
      clearTimeout(giveUp);
      this.isConnecting = false;
    }
    if (this.client !== client || this.closed) return;
    this.failures = 0;
    this.scheduleHeartbeat(client);
    this.handlers.onConnected();
  }

  private lost(client: PgClient, error: Error): void {
    if (this.client !== client) return;
    this.client = undefined;
    clearTimeout(this.timer);
    void endQuietly(client);
    if (this.closed) return;
    this.failures += 1;
    // Said once, not at every attempt of an outage.
    if (this.failures === 1) this.handlers.onLost(error);
    const pauseMs = exponentialDelayMs(RECONNECT_FROM_MS, this.failures, RECONNECT_UP_TO_MS);
    this.timer = setTimeout(() => {
      this.connecting = this.connect();
    }, pauseMs);
    this.timer.unref();
  }

  private scheduleHeartbeat(client: PgClient): void {
    this.timer = setTimeout(() => void this.heartbeat(client), HEARTBEAT_MS);
    this.timer.unref();
  }

  private async heartbeat(client: PgClient): Promise<void> {
    const giveUp = this.giveUpAfterSilence(client);
    try {
      await client.query('select 1');
    } catch (error) {
      this.lost(client, error as Error);
      return;
    } finally {
      clearTimeout(giveUp);
    }
    if (this.client === client && !this.closed) this.scheduleHeartbeat(client);
  }

  /** What was asked may never be answered, and nobody else would notice. */
  private giveUpAfterSilence(client: PgClient): NodeJS.Timeout {
    const giveUp = () => {
      this.lost(client, new Error('the server does not answer'));
      cut(client, 'the server does not answer');
    };
    return setTimeout(giveUp, HEARTBEAT_TIMEOUT_MS).unref();
  }
}

function listenerOptions(pool: PgPool): object {
  return { ...loginOptions(pool), keepAlive: true, query_timeout: 0, statement_timeout: 0 };
}

/** Over a connection that carries nothing any more nobody takes leave: then it is cut. */
async function endQuietly(client: PgClient | undefined): Promise<void> {
  const timer = setTimeout(() => cut(client, 'the server did not end the connection'), END_TIMEOUT_MS);
  try {
    await client?.end();
  } catch {
    // It is given up in any case.
  } finally {
    clearTimeout(timer);
  }
}

function cut(client: PgClient | undefined, reason: string): void {
  client?.connection?.stream?.destroy(new Error(reason));
}

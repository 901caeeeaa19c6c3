import type { Hono } from 'hono';
import type { Client } from '../client/client.js';
import type { LivePoll } from './live/live-poll.js';
import type { InstanceReader } from './model/instance-reader.js';
import type { Overview } from './model/overview.js';
import type { ResolvedOptions } from './options.js';
import type { Access } from './views.js';

/** What a request carries on its way. */
export interface DashboardEnv {
  Variables: { access: Access };
}

export type DashboardApp = Hono<DashboardEnv>;

/** What the routes work with. */
export interface DashboardContext {
  readonly options: ResolvedOptions;
  readonly client: Client;
  readonly overview: Overview;
  readonly reader: InstanceReader;
  readonly poll: LivePoll;
  /** Ends the streams when the dashboard is closed. */
  readonly closing: AbortSignal;
}

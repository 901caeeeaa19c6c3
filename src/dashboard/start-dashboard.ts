import { serve } from '@hono/node-server';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createDashboard } from './dashboard.js';
import type { DashboardOptions } from './options.js';
import { isLoopback } from './security/hosts.js';

export interface StartDashboardOptions extends Omit<DashboardOptions, 'basePath'> {
  /** Address to listen on. Others than loopback ask for `token` or `access`. @defaultValue `'127.0.0.1'` */
  readonly host?: string | undefined;
  /** 0: one that is free. @defaultValue `4600` */
  readonly port?: number | undefined;
}

export interface RunningDashboard {
  /** Where it is, e.g. `http://127.0.0.1:4600/`; without the token. */
  readonly url: string;
  readonly port: number;
  /** Ends the streams and the server. The provider stays open. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 4600;

/**
 * Starts a server for the dashboard.
 * @throws RangeError for an option that does not fit, or a host that others reach without a
 *   token; Error when the address is taken
 */
export async function startDashboard(options: StartDashboardOptions): Promise<RunningDashboard> {
  const { host = '127.0.0.1', port = DEFAULT_PORT, ...rest } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new RangeError(`dashboard: option port must be a whole number from 0 to 65535, got ${String(port)}`);
  }
  if (!isLoopback(host) && options.token === undefined && options.access === undefined) {
    throw new RangeError(
      `dashboard: other machines can reach host '${host}': give a token, or listen on 127.0.0.1 (the default)`,
    );
  }
  const dashboard = createDashboard({ ...rest, allowedHosts: namesOf(host, rest.allowedHosts) });
  const fetch = (request: Request) => dashboard.fetch(withStandardBody(request));
  const server = serve({ fetch, hostname: host, port, overrideGlobalObjects: false }) as Server;
  try {
    if (!server.listening) await once(server, 'listening');
  } catch (error) {
    dashboard.close();
    throw listenError(error, host, port);
  }
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}/`,
    port: actual,
    close: async () => {
      dashboard.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * The requests of the server are only like those of the platform, whose constructor Node 20 then
 * refuses to be given one by: what may have a body is made one of the platform's. Without
 * a length and without chunks there is none (RFC 9112, 6.3).
 */
function withStandardBody(request: Request): Request {
  const { url, method, headers, signal } = request;
  if (method === 'GET' || method === 'HEAD') return request;
  if (!headers.has('content-length') && !headers.has('transfer-encoding')) {
    return new Request(url, { method, headers, signal });
  }
  return new Request(url, { method, headers, signal, body: request.body, duplex: 'half' });
}

/** The name to listen on is one to answer under. */
function namesOf(host: string, allowed: DashboardOptions['allowedHosts']): DashboardOptions['allowedHosts'] {
  return allowed === 'any' ? allowed : [host, ...(allowed ?? [])];
}

function listenError(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new Error(`dashboard: port ${port} of ${host} is in use; give another one`, { cause: error });
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Error(`dashboard: cannot listen on ${host}, port ${port} (${code})`, { cause: error });
  }
  return error;
}

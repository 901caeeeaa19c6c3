import { isIP } from 'node:net';

/** Names of the machine itself; no resolver is asked for them, or it answers loopback. */
const LOCAL_NAME = /(^|\.)localhost$/;

/**
 * Whether the `Host` header may name this server. An attacker's page can make its own name
 * resolve to our address; what it cannot do is be loaded from an IP address or `localhost`.
 */
export function isAllowedHost(host: string | null | undefined, allowed: ReadonlySet<string> | 'any'): boolean {
  if (allowed === 'any') return true;
  const name = hostName(host);
  if (name === undefined) return false;
  return isIP(name) !== 0 || LOCAL_NAME.test(name) || allowed.has(name);
}

/** Whether only programs of this machine can reach an address to listen on. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The name of a `Host` header without its port, or `undefined` where it is none. */
export function hostName(host: string | null | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/@[\]]+))(?::\d{1,5})?$/i.exec(host ?? '');
  const name = match?.[1] ?? match?.[2];
  return name?.toLowerCase().replace(/\.$/, '');
}

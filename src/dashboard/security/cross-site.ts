import { hostName } from './hosts.js';

/** Sent by our page with everything that changes something. A foreign page cannot send it: we allow no preflight. */
export const REQUEST_HEADER = 'x-duroxide-dashboard';

/** Why a request that changes something may come from a foreign page, or `undefined`. */
export function problemOfOrigin(request: Request): string | undefined {
  const { headers } = request;
  if (headers.get(REQUEST_HEADER) === null) return `the header ${REQUEST_HEADER} is missing`;
  if (headers.get('content-type')?.split(';')[0]?.trim() !== 'application/json') {
    return 'the content type is not application/json';
  }
  return problemOfSite(request);
}

/**
 * Why a request that reads may come from a foreign page, or `undefined`. Such a page learns
 * nothing, but its requests would cost the database, and its streams keep out our own.
 */
export function problemOfSite(request: Request): string | undefined {
  const { headers } = request;
  const site = headers.get('sec-fetch-site');
  // The browser's own word, which a page cannot change; `none` is a user at the address bar.
  if (site !== null) return site === 'same-origin' || site === 'none' ? undefined : 'it comes from another site';
  const origin = headers.get('origin');
  if (origin === null) return undefined; // no browser
  return isSameHost(origin, request) ? undefined : 'it comes from another origin';
}

/** By name only: a proxy in front of us may have changed scheme and port. */
function isSameHost(origin: string, request: Request): boolean {
  const ours = hostName(request.headers.get('host') ?? new URL(request.url).host);
  return ours !== undefined && URL.canParse(origin) && hostName(new URL(origin).host) === ours;
}

import { setMaxListeners } from 'node:events';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { Client } from '../client/client.js';
import { addActions } from './api/actions.js';
import { addLive } from './api/live.js';
import { foreignPage, Problem, problemOf } from './api/problem.js';
import { addReads } from './api/reads.js';
import { type DashboardAssets, loadAssets } from './assets.js';
import type { DashboardApp, DashboardContext, DashboardEnv } from './context.js';
import { LivePoll } from './live/live-poll.js';
import { InstanceReader } from './model/instance-reader.js';
import { Overview } from './model/overview.js';
import { type DashboardOptions, type ResolvedOptions, resolveDashboardOptions } from './options.js';
import { appPage, loginPage, plainPage } from './page.js';
import { problemOfSite } from './security/cross-site.js';
import { securityHeaders } from './security/headers.js';
import { isAllowedHost } from './security/hosts.js';
import { SignIn } from './security/sign-in.js';
import type { ErrorView } from './views.js';

/** Data of an event that can be raised from the page, in bytes of the request. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Paths of the front end; it decides what they show. */
const PAGES = ['/', '/instances', '/instance', '/schedules', '/queues'];

/** A dashboard to mount in a server of your own. */
export interface Dashboard {
  /** Answers a request; fits every server that speaks `Request` and `Response`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Ends the streams of open pages. The provider stays open. */
  close(): void;
}

/**
 * A dashboard over a store, as a handler. Without `token` and `access` whoever reaches it may
 * do everything: mount it behind your authentication. It answers only under names that it
 * was told (`allowedHosts`), `localhost` and IP addresses.
 * @throws RangeError for an option that does not fit
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  const resolved = resolveDashboardOptions(options);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one per open page
  const { provider, clock, logger } = resolved;
  const context: DashboardContext = {
    options: resolved,
    client: new Client(provider),
    overview: new Overview(provider, clock),
    reader: new InstanceReader(provider),
    poll: new LivePoll(clock, logger),
    closing: closing.signal,
  };
  const app = createApp(context);
  return { fetch: async (request) => app.fetch(request), close: () => closing.abort() };
}

function createApp(context: DashboardContext): DashboardApp {
  const { options } = context;
  const app = new Hono<DashboardEnv>({ getPath: (request) => innerPath(request, options.basePath) });
  const assets = () => (options.assets ? Promise.resolve(options.assets) : loadAssets());
  reportProblems(app, options);
  app.use(securityHeaders());
  app.use(async (c, next) => {
    if (isAllowedHost(c.req.header('host') ?? new URL(c.req.url).host, options.allowedHosts)) return next();
    throw new Problem(
      403,
      'foreign_host',
      'This dashboard does not answer under this host name. If it is yours, name it in the option allowedHosts.',
    );
  });
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: () => tooLarge() }));
  addAssets(app, assets);
  addPages(app, options, assets);
  app.use('/api/*', async (c, next) => {
    if (c.get('access') === 'none') throw new Problem(401, 'sign_in', 'Sign in first.');
    const foreign = problemOfSite(c.req.raw);
    if (foreign !== undefined) throw foreignPage(foreign);
    await next();
    c.header('cache-control', 'no-store');
  });
  addReads(app, context);
  addActions(app, context);
  addLive(app, context);
  app.all('/api/*', (c) => {
    throw new Problem(404, 'no_route', `Nothing is at ${c.req.method} ${c.req.path}.`);
  });
  app.notFound(async (c) =>
    c.html(plainPage(await assets(), options.basePath, 'Not found', 'There is no such page in this dashboard.'), 404),
  );
  return app;
}

/** Of everything that is thrown: a status, a code and a sentence. */
function reportProblems(app: DashboardApp, { logger }: ResolvedOptions): void {
  app.onError((error, c) => {
    const problem = problemOf(error);
    if (problem.status >= 500) {
      logger.error(
        { error: problem.cause ?? problem, method: c.req.method, path: c.req.path },
        'dashboard: a request failed',
      );
    }
    const { code, message } = problem;
    return c.json({ error: { code, message } } satisfies ErrorView, problem.status);
  });
}

/** The files have a hash in their names, so they never change. They hold no secret. */
function addAssets(app: DashboardApp, assets: () => Promise<DashboardAssets>): void {
  app.get('/assets/:name', async (c) => {
    const asset = (await assets()).files.get(c.req.param('name'));
    if (!asset) throw new Problem(404, 'no_route', 'No such file.');
    return c.body(asset.body, 200, {
      'content-type': asset.type,
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });
}

/** The pages, and the way past the token. */
function addPages(app: DashboardApp, options: ResolvedOptions, assets: () => Promise<DashboardAssets>): void {
  const { basePath } = options;
  const signIn = new SignIn(options);
  app.use(async (c, next) => {
    c.set('access', await signIn.accessOf(c));
    await next();
  });
  app.get('/login', async (c) => {
    const to = pagePath(c.req.query('to'));
    // Nothing to sign in with, or signed in already.
    if (!signIn.hasToken || c.get('access') !== 'none') return c.redirect(basePath + to, 303);
    return c.html(loginPage(await assets(), basePath, { to, refused: false }));
  });
  app.post('/login', async (c) => {
    const form = await c.req.parseBody();
    const to = pagePath(form['to']);
    const token = form['token'];
    if (signIn.hasToken && typeof token === 'string' && signIn.accept(c, token)) return c.redirect(basePath + to, 303);
    return c.html(loginPage(await assets(), basePath, { to, refused: true }), 401);
  });
  for (const path of PAGES) {
    app.get(path, async (c) => {
      const url = new URL(c.req.url);
      const token = url.searchParams.get('token');
      if (token !== null && signIn.hasToken) {
        url.searchParams.delete('token');
        const to = path + url.search;
        // Out of the address bar and the history, right or wrong.
        return c.redirect(signIn.accept(c, token) ? basePath + to : loginPath(basePath, to), 303);
      }
      if (c.get('access') !== 'none') {
        c.header('cache-control', 'no-store');
        return c.html(appPage(await assets(), basePath));
      }
      if (signIn.hasToken) return c.redirect(loginPath(basePath, path + url.search), 303);
      return c.html(plainPage(await assets(), basePath, 'No access', 'You may not look at this dashboard.'), 403);
    });
  }
}

function loginPath(basePath: string, to: string): string {
  return `${basePath}/login?to=${encodeURIComponent(to)}`;
}

/** One of our pages, wherever a link wanted to go: the sign-in leads nowhere else. */
function pagePath(to: unknown): string {
  if (typeof to !== 'string') return '/';
  const [path = '', ...query] = to.split('?');
  return PAGES.includes(path) ? [path, ...query].join('?') : '/';
}

/** The path below the mount point, whether or not the server around us has taken it off. */
function innerPath(request: Request, basePath: string): string {
  const { pathname } = new URL(request.url);
  if (basePath !== '' && (pathname === basePath || pathname.startsWith(`${basePath}/`))) {
    return pathname.slice(basePath.length) || '/';
  }
  return pathname;
}

function tooLarge(): never {
  throw new Problem(413, 'too_large', `The request is larger than ${MAX_BODY_BYTES} bytes.`);
}

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import { silentLogger } from '../../src/base/logger.js';
import { createDashboard } from '../../src/dashboard/dashboard.js';
import { startDashboard } from '../../src/dashboard/start-dashboard.js';
import { RecordingLogger } from '../support/waiting.js';
import { codeOf, DashboardUnderTest, HOST, type Mounted, NO_ASSETS, OURS } from './stage.js';

const TOKEN = 'a-token-of-32-characters-for-you';

let stage: DashboardUnderTest;
beforeAll(async () => {
  stage = await DashboardUnderTest.open({
    orchestrations: {
      *Wait(ctx, input: unknown) {
        yield ctx.waitForEvent('go');
        return input;
      },
    },
  });
});
afterAll(() => stage.close());

const running = async (id: string) => {
  await stage.runtime.client.startOrchestration(id, 'Wait', { secret: 'payload' });
  await stage.runtime.settle();
};

describe('closed by default', () => {
  test.each(['0.0.0.0', '::', '192.168.1.7', 'ops.example.com'])('host %s without a token is refused', async (host) => {
    await expect(startDashboard({ provider: stage.provider, host, port: 0 })).rejects.toThrow(
      `other machines can reach host '${host}': give a token`,
    );
  });

  test.each([
    [{ token: 'short' }, 'option token must have at least 16 characters'],
    [{ basePath: 'ops' }, "option basePath must be '' or a path such as '/ops/workflows', got 'ops'"],
    [{ basePath: '/ops/' }, 'option basePath'],
    [{ basePath: '/"><script>' }, 'option basePath'],
    [{ token: TOKEN, access: () => 'read' as const }, 'give either option token or option access'],
    [{ provider: {} as never }, 'option provider must be a provider'],
  ])('an option that does not fit is named: %o', (options, message) => {
    expect(() => createDashboard({ provider: stage.provider, ...options })).toThrow(message);
  });

  test('a port that does not fit, or is taken, is named', async () => {
    await expect(startDashboard({ provider: stage.provider, port: 70_000 })).rejects.toThrow(
      'from 0 to 65535, got 70000',
    );
    const first = await startDashboard({ provider: stage.provider, port: 0, assets: NO_ASSETS });
    await expect(startDashboard({ provider: stage.provider, port: first.port })).rejects.toThrow(
      `port ${first.port} of 127.0.0.1 is in use`,
    );
    await first.close();
  });

  test('the server answers on loopback, and its port is free after close', async () => {
    const running = await startDashboard({ provider: stage.provider, port: 0, assets: NO_ASSETS });
    expect(running.url).toBe(`http://127.0.0.1:${running.port}/`);
    expect((await fetch(`${running.url}api/session`)).status).toBe(200);
    await running.close();
    const again = await startDashboard({ provider: stage.provider, port: running.port, assets: NO_ASSETS });
    await again.close();
  });
});

describe('other hosts’ names', () => {
  const askAs = (mounted: Mounted, host: string) =>
    mounted.dashboard.fetch(new Request(`${HOST}/api/session`, { headers: { host } }));

  test.each(['evil.example', 'localhost.evil.example', 'evil.example:4600', '127.0.0.1.evil.example', '', 'a b'])(
    '%s is refused',
    async (host) => {
      const answer = await askAs(stage.mount(), host);
      expect(answer.status).toBe(403);
      expect(await answer.json()).toEqual({
        error: { code: 'foreign_host', message: expect.stringContaining('allowedHosts') as unknown },
      });
    },
  );
  test.each([
    'localhost',
    'localhost:4600',
    'LOCALHOST',
    'app.localhost:1',
    '127.0.0.1:4600',
    '[::1]:4600',
    '10.0.0.8',
  ])('%s is answered: no foreign page can come from there', async (host) => {
    expect((await askAs(stage.mount(), host)).status).toBe(200);
  });
  test('a name that was allowed is answered, and no other', async () => {
    const mounted = stage.mount({ allowedHosts: ['Ops.Example.com'] });
    expect((await askAs(mounted, 'ops.example.com:443')).status).toBe(200);
    expect((await askAs(mounted, 'example.com')).status).toBe(403);
    expect((await askAs(stage.mount({ allowedHosts: 'any' }), 'evil.example')).status).toBe(200);
  });
});

describe('the token', () => {
  test('without it nothing is told, and pages lead to the sign-in', async () => {
    const mounted = stage.mount({ token: TOKEN });
    for (const path of ['session', 'overview', 'instances', 'live/overview']) {
      expect(codeOf(await mounted.get(path))).toBe('sign_in');
    }
    expect(await mounted.post('cancel', { id: 'x' })).toMatchObject({ status: 401 });
    const page = await mounted.fetch('/instance?id=a%26b');
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login?to=%2Finstance%3Fid%3Da%2526b']);
  });

  test('as a bearer token; a wrong one is none', async () => {
    const mounted = stage.mount({ token: TOKEN });
    const ask = async (token: string) =>
      (await mounted.fetch('/api/session', { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await ask(TOKEN), await ask(`${TOKEN}x`), await ask('')]).toEqual([200, 401, 401]);
  });

  test('on the sign-in page: the cookie is not the token, cannot be read by scripts, and opens the page', async () => {
    const mounted = stage.mount({ token: TOKEN, basePath: '/ops' });
    const send = (token: string, to: string) =>
      mounted.fetch('/ops/login', { method: 'POST', body: new URLSearchParams({ token, to }) });
    const refused = await send('wrong', '/instances');
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
    const accepted = await send(TOKEN, '/instance?id=1');
    expect([accepted.status, accepted.headers.get('location')]).toEqual([303, '/ops/instance?id=1']);
    const cookie = accepted.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^ddz_dashboard_[0-9a-f]{8}=[\w-]{43}; Max-Age=604800; Path=\/ops; HttpOnly; SameSite=Lax$/);
    expect(cookie).not.toContain(TOKEN);
    const session = await mounted.fetch('/ops/api/session', { headers: { cookie: cookie.split(';')[0] ?? '' } });
    expect(session.status).toBe(200);
    const other = stage.mount({ token: `${TOKEN}2`, basePath: '/ops' });
    expect((await other.fetch('/ops/api/session', { headers: { cookie: cookie.split(';')[0] ?? '' } })).status).toBe(
      401,
    );
  });

  test('the sign-in leads to our own pages only', async () => {
    const mounted = stage.mount({ token: TOKEN });
    for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example', '/api/session', 'javascript:1']) {
      const answer = await mounted.fetch('/login', { method: 'POST', body: new URLSearchParams({ token: TOKEN, to }) });
      expect(answer.headers.get('location')).toBe('/');
    }
  });

  test('once in the address: it leaves the address, right or wrong', async () => {
    const mounted = stage.mount({ token: TOKEN });
    const right = await mounted.fetch(`/instance?id=a&token=${TOKEN}`);
    expect([right.status, right.headers.get('location')]).toEqual([303, '/instance?id=a']);
    expect(right.headers.get('set-cookie')).toContain('HttpOnly');
    const wrong = await mounted.fetch('/?token=wrong');
    expect([wrong.headers.get('location'), wrong.headers.get('set-cookie')]).toEqual(['/login?to=%2F', null]);
  });

  test('a callback of the server around it decides instead', async () => {
    await running('by-callback');
    const mounted = stage.mount({
      access: (request) => (request.headers.get('x-role') as 'read' | 'write' | null) ?? 'none',
    });
    const roles = async (role?: string) => {
      const headers = role === undefined ? {} : { 'x-role': role };
      return (await mounted.fetch('/api/session', { headers })).status;
    };
    expect([await roles(), await roles('read')]).toEqual([401, 200]);
    expect((await mounted.fetch('/')).status).toBe(403);
    const cancel = (role: string) => mounted.post('cancel', { id: 'by-callback' }, { ...OURS, 'x-role': role });
    expect(codeOf(await cancel('read'))).toBe('read_only');
    expect((await cancel('write')).status).toBe(200);
  });
});

describe('what changes something', () => {
  const actions = [
    ['raise', { id: 'victim', name: 'go' }],
    ['cancel', { id: 'victim' }],
    ['retry', { id: 'victim', toEventId: 1 }],
    ['delete', { id: 'victim', force: true }],
    ['schedule/pause', { id: 'victim' }],
    ['schedule/delete', { id: 'victim' }],
    ['queue/pause', { id: 'victim' }],
    ['queue/resume', { id: 'victim' }],
  ] as const;
  beforeAll(() => running('victim'));
  const stillRuns = async () => {
    await stage.runtime.settle();
    expect(await stage.runtime.client.getStatus('victim')).toMatchObject({ status: 'Running' });
  };

  test.each(actions)('%s is refused in read-only mode', async (action, body) => {
    const answer = await stage.mount({ readOnly: true }).post(action, body);
    expect([answer.status, codeOf(answer)]).toEqual([403, 'read_only']);
    await stillRuns();
  });

  test.each(actions)('%s is refused as a request of a foreign page', async (action, body) => {
    const mounted = stage.mount();
    const bare = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
    const foreign: Readonly<Record<string, string>>[] = [
      bare,
      { ...OURS, 'content-type': 'text/plain' },
      { ...OURS, 'content-type': 'application/x-www-form-urlencoded' },
      { ...OURS, 'sec-fetch-site': 'cross-site' },
      { ...OURS, 'sec-fetch-site': 'same-site' },
      { 'content-type': 'application/json', 'x-duroxide-dashboard': '1', origin: 'https://evil.example' },
      { 'content-type': 'application/json', 'x-duroxide-dashboard': '1', origin: 'null' },
    ];
    for (const headers of foreign) {
      const answer = await mounted.post(action, body, headers);
      expect([answer.status, codeOf(answer)]).toEqual([403, 'cross_site']);
    }
    await stillRuns();
  });

  test('no preflight is answered, and a GET changes nothing', async () => {
    const mounted = stage.mount();
    const preflight = await mounted.fetch('/api/actions/cancel', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-headers': 'x-duroxide-dashboard' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    expect(preflight.ok).toBe(false);
    expect((await mounted.fetch('/api/actions/cancel?id=victim')).ok).toBe(false);
    await stillRuns();
  });

  test('a request that is too large, or no JSON object, or has a stranger in it, is refused', async () => {
    const mounted = stage.mount();
    const send = (body: string) => mounted.fetch('/api/actions/raise', { method: 'POST', headers: OURS, body });
    expect((await send(`{"id":"victim","name":"go","data":"${'x'.repeat(5_000_000)}"}`)).status).toBe(413);
    for (const body of ['', '[1]', '"text"', 'null', '{', '{"id":"victim","name":"go","evil":1}']) {
      expect((await send(body)).status).toBe(400);
    }
    await stillRuns();
  });
});

describe('what only reads', () => {
  const paths = ['live/overview', 'live/instance?id=x', 'overview', 'instances'];

  test.each(paths)(
    '%s is refused as a request of a foreign page, which could open streams without end',
    async (path) => {
      const mounted = stage.mount();
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
      ]) {
        const answer = await mounted.fetch(`/api/${path}`, { headers });
        expect([answer.status, codeOf({ body: await answer.json() })]).toEqual([403, 'cross_site']);
      }
    },
  );

  test.each(paths)('%s is answered to our page, to the address bar and to programs', async (path) => {
    const mounted = stage.mount();
    for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, { origin: HOST }, {}]) {
      const answer = await mounted.fetch(`/api/${path}`, { headers });
      expect(answer.status).toBe(200);
      await answer.body?.cancel();
    }
  });
});

test('over the network: no body, a body in chunks, and one that has too many of them', async () => {
  const server = await startDashboard({ provider: stage.provider, port: 0, assets: NO_ASSETS, logger: silentLogger });
  const status = (method: string, path: string, chunks: readonly string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${server.url}${path}`, { method, headers: OURS }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode));
      });
      sent.on('error', reject);
      for (const chunk of chunks) sent.write(chunk);
      sent.end();
    });
  try {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      expect([method, await status(method, 'api/nothing', [])]).toEqual([method, 404]);
    }
    expect(await status('POST', 'api/actions/raise', [])).toBe(400);
    expect(await status('POST', 'api/actions/raise', ['{"id":"nobody",', '"name":"go"}'])).toBe(404);
    expect(
      await status(
        'POST',
        'api/actions/raise',
        Array.from({ length: 50 }, () => 'x'.repeat(100_000)),
      ),
    ).toBe(413);
  } finally {
    await server.close();
  }
});

describe('headers and logs', () => {
  test.each(['/', '/login', '/api/session', '/api/nothing', '/assets/app.js', '/assets/none', '/no-such-page'])(
    '%s runs nothing but our own files and is in no frame',
    async (path) => {
      const { headers } = await stage.mount().fetch(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    },
  );

  test('pages have no inline script and no inline style', async () => {
    const mounted = stage.mount({ token: TOKEN });
    const signedIn = { headers: { authorization: `Bearer ${TOKEN}` } };
    for (const [path, init] of [['/', signedIn], ['/login'], ['/no-such-page']] as const) {
      const html = await (await mounted.fetch(path, init)).text();
      expect(html).toContain('<link rel="stylesheet" href="/assets/style.css"');
      expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/);
    }
  });

  test('answers about instances are kept by no cache', async () => {
    const mounted = stage.mount();
    expect((await mounted.fetch('/api/overview')).headers.get('cache-control')).toBe('no-store');
    expect((await mounted.fetch('/assets/app.js')).headers.get('cache-control')).toContain('immutable');
  });

  test('who steers leaves a trace without payload; failures are logged without payload', async () => {
    const logger = new RecordingLogger();
    const mounted = stage.mount({ logger });
    await running('logged');
    await mounted.post('raise', { id: 'logged', name: 'go', data: '{"password":"hunter2"}' });
    await mounted.post('raise', { id: 'logged', name: 'go', data: 'hunter2' });
    expect(logger.lines).toEqual([
      { level: 'info', fields: { action: 'raise', instance: 'logged' }, message: 'dashboard: an instance was steered' },
    ]);
    expect(JSON.stringify(logger.lines)).not.toContain('hunter2');
  });
});

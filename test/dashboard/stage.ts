import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import type { DashboardAssets } from '../../src/dashboard/assets.js';
import { createDashboard, type Dashboard } from '../../src/dashboard/dashboard.js';
import type { DashboardOptions } from '../../src/dashboard/options.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { Provider } from '../../src/provider/provider.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../support/database.js';
import { type Handlers, SteppedRuntime } from '../support/runtime-harness.js';

export const HOST = 'http://localhost:4600';

/** What our page sends along with a change. */
export const OURS = {
  'content-type': 'application/json',
  'x-duroxide-dashboard': '1',
  'sec-fetch-site': 'same-origin',
};

/** Stands for the built front end where the test is not about it. */
export const NO_ASSETS: DashboardAssets = {
  files: new Map([['app.js', { type: 'text/javascript; charset=utf-8', body: new TextEncoder().encode('1') }]]),
  script: 'app.js',
  theme: 'theme.js',
  style: 'style.css',
  icon: 'icon.svg',
};

/** A dashboard without a server, over a store of the test's own, with a runtime that the test steps. */
export class DashboardUnderTest {
  private constructor(
    readonly provider: DrizzleProvider,
    readonly clock: FakeClock,
    readonly runtime: SteppedRuntime,
    private readonly schema: string,
  ) {}

  static async open(handlers: Handlers = {}): Promise<DashboardUnderTest> {
    const clock = new FakeClock();
    const schema = uniqueSchema('dash');
    const provider = await DrizzleProvider.connect(databaseUrl(), { schema, clock, logger: silentLogger });
    return new DashboardUnderTest(provider, clock, new SteppedRuntime(provider, clock, handlers), schema);
  }

  mount(options: Partial<DashboardOptions> = {}): Mounted {
    return mount({ provider: this.provider, clock: this.clock, ...options });
  }

  async close(): Promise<void> {
    await this.provider.close();
    await dropSchema(this.schema);
  }
}

/** A dashboard's handler with short ways to ask it. */
export interface Mounted {
  readonly dashboard: Dashboard;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The JSON of an answer, with its status. */
  get(path: string, query?: Readonly<Record<string, string>>): Promise<{ status: number; body: unknown }>;
  post(
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; body: unknown }>;
}

export function mount(options: Partial<DashboardOptions> & { readonly provider: Provider }): Mounted {
  const dashboard = createDashboard({ logger: silentLogger, assets: NO_ASSETS, ...options });
  const ask = (path: string, init?: RequestInit) => dashboard.fetch(new Request(HOST + path, init));
  const json = async (response: Response) => ({ status: response.status, body: await response.json() });
  return {
    dashboard,
    fetch: ask,
    get: async (path, query = {}) => {
      const text = new URLSearchParams(query).toString();
      return json(await ask(`/api/${path}${text && `?${text}`}`));
    },
    post: async (path, body, headers = OURS) =>
      json(await ask(`/api/actions/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })),
  };
}

/** The code of a problem in an answer. */
export function codeOf({ body }: { readonly body: unknown }): string {
  return (body as { error: { code: string } }).error.code;
}

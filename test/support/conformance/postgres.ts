import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import type { FreshStart, LossyProvider, NativePeer } from '../../../src/conformance/index.js';
import type { FakeClock } from '../../../src/base/clock.js';
import type { Provider } from '../../../src/provider/provider.js';
import { connectNative, type NativeSdk } from '../../oracle/native.js';
import { CuttingProxy } from '../cutting-proxy.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../database.js';
import { PostgresBackdoor } from '../storage-helpers.js';
import { type Backend, backendOf, recordedMigrations, underTest, type UnderTestOptions } from './backend.js';

/** How a provider is opened on a server; on a fresh schema it migrates it. */
export type ConnectProvider = (url: string, options: UnderTestOptions & { schema: string }) => Promise<Provider>;

export interface PostgresBackend {
  readonly connect: ConnectProvider;
  readonly answersTails: boolean;
  /** `native`: native duroxide migrates the schema first, and may work on it beside us. */
  readonly schemaBy: 'ours' | 'native';
}

export async function postgresBackend({ connect, answersTails, schemaBy }: PostgresBackend): Promise<Backend> {
  const { clock, options } = underTest();
  const url = databaseUrl();
  const schema = uniqueSchema('conf');
  const native = schemaBy === 'native' ? await connectNative(url, schema) : undefined;
  const provider = await connect(url, { schema, ...options });
  const backdoor = new PostgresBackdoor(url, schema);
  const userPool = new pg.Pool({ connectionString: url, max: 2 });
  const db = drizzle(userPool);
  const closeAfterTest: (() => Promise<unknown>)[] = [];

  return backendOf({
    provider,
    clock,
    answersTails,
    sql: (text, values) => backdoor.sql(text, values),
    openTransaction: () => backdoor.openTransaction(),
    userTransactions: {
      run: (use) => db.transaction(use),
      savepoint: (tx, use) => (tx as NodePgDatabase).transaction(use),
    },
    async startOnFreshStorage(providers): Promise<FreshStart> {
      const fresh = uniqueSchema('fresh');
      closeAfterTest.push(() => dropSchema(fresh));
      const started = await Promise.all(
        Array.from({ length: providers }, () => connect(url, { schema: fresh, ...options })),
      );
      closeAfterTest.push(...started.map((one) => () => one.close()));
      return {
        providers: started,
        recorded: await recordedMigrations((text) => backdoor.sql(text), `${fresh}.ddz_migrations`),
      };
    },
    async lossyProvider(): Promise<LossyProvider> {
      const proxy = await CuttingProxy.open(url);
      closeAfterTest.push(() => proxy.close());
      const lossy = await connect(proxy.url, { schema, ...options });
      closeAfterTest.push(() => lossy.close());
      return { provider: lossy, loseNextCommit: proxy.loseNextCommit };
    },
    ...(native ? { nativePeer: () => Promise.resolve(nativePeer(native, clock)) } : {}),
    async afterEach() {
      await backdoor.rollbackAll();
      // The last opened first: a provider closes before the proxy or schema under it.
      for (let close = closeAfterTest.pop(); close; close = closeAfterTest.pop()) await close();
    },
    async close() {
      await native?.close();
      await userPool.end();
      await backdoor.close();
      await dropSchema(schema);
    },
  });
}

function nativePeer(native: NativeSdk, clock: FakeClock): NativePeer {
  clock.set(Date.now());
  const client = native.client();
  return {
    start: (instance, input) => client.raw.startOrchestration(instance, 'Hello', input),
    async run(serve, done) {
      const runtime = native.runtime({
        dispatcherPollIntervalMs: 10,
        workerTagFilter: serve === 'activities' ? 'any' : 'none',
      });
      runtime.registerActivity('Echo', (_ctx, input) => input);
      runtime.registerOrchestration('Hello', function* (ctx, input) {
        return yield ctx.scheduleActivity('Echo', input);
      });
      await runtime.start();
      try {
        for (clock.set(Date.now()); !(await done()); clock.set(Date.now())) {
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      } finally {
        await runtime.shutdown(100);
      }
    },
  };
}

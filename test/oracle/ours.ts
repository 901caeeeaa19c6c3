import { silentLogger } from '../../src/base/logger.js';
import { Client, type ClientOptions } from '../../src/client/client.js';
import { DrizzleProvider } from '../../src/provider/drizzle/drizzle-provider.js';
import type { ConnectOptions } from '../../src/provider/drizzle/options.js';
import type { Provider } from '../../src/provider/provider.js';
import type { RuntimeOptions as OurRuntimeOptions } from '../../src/runtime/options.js';
import { Runtime } from '../../src/runtime/runtime.js';
import type {
  ActivityFunction,
  DurableClient,
  DurableRuntime,
  DurableSdk,
  OrchestrationFunction,
  RuntimeOptions,
} from './sdk.js';

/** Ours on a schema, which it creates, or adopts when native has migrated it. */
export async function connectOurs(url: string, schema: string, options: ConnectOptions = {}): Promise<OurSdk> {
  return new OurSdk(await DrizzleProvider.connect(url, { schema, logger: silentLogger, ...options }));
}

/** Clients and runtimes of ours over one provider. */
export class OurSdk implements DurableSdk {
  readonly name = 'ours';
  readonly #runtimes = new Set<OurRuntime>();

  constructor(
    readonly provider: Provider,
    /** What every runtime gets unless a test says otherwise. */
    private readonly defaults: OurRuntimeOptions = {},
    private readonly clientOptions: ClientOptions = {},
  ) {}

  client(): DurableClient {
    return new Client(this.provider, this.clientOptions);
  }

  runtime(options: RuntimeOptions & OurRuntimeOptions = {}): OurRuntime {
    const runtime = new OurRuntime(new Runtime(this.provider, { logger: silentLogger, ...this.defaults, ...options }));
    this.#runtimes.add(runtime);
    return runtime;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#runtimes].map((runtime) => runtime.shutdown(0)));
    await this.provider.close();
  }
}

/** Our runtime behind the interface that test programs are written for. */
export class OurRuntime implements DurableRuntime {
  constructor(readonly runtime: Runtime) {}

  registerActivity(name: string, fn: ActivityFunction): void {
    this.runtime.registerActivity(name, fn);
  }
  registerOrchestration(name: string, fn: OrchestrationFunction): void {
    this.runtime.registerOrchestration(name, fn);
  }
  registerOrchestrationVersioned(name: string, version: string, fn: OrchestrationFunction): void {
    this.runtime.registerOrchestrationVersioned(name, version, fn);
  }
  start(): Promise<void> {
    return this.runtime.start();
  }
  shutdown(timeoutMs?: number): Promise<void> {
    return this.runtime.shutdown(timeoutMs);
  }
}

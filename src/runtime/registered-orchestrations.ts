import type { Runtime } from './runtime.js';
import type { CreateDriver } from './replay/driver.js';

/** Leads code of the runtime through histories, guarded as it is while the runtime runs. */
export async function whileReplaying<T>(runtime: Runtime, use: () => Promise<T>): Promise<T> {
  const release = runtime['host'].retain();
  try {
    return await use();
  } finally {
    release();
  }
}

/** Versions in histories that stand for none. */
const NO_VERSION = new Set(['0.0.0', 'unknown', '']);

/**
 * The code that a runtime has registered for an orchestration of a history, for tools that
 * replay without running. `undefined` when it has none for this version.
 */
export function registeredOrchestration(runtime: Runtime, name: string, version: string): CreateDriver | undefined {
  // By index: the registry is nobody's business but the runtime's and the tools' of this package.
  const orchestrations = runtime['orchestrations'];
  const found = NO_VERSION.has(version) ? orchestrations.resolve(name) : orchestrations.resolveExact(name, version);
  return found?.handler;
}

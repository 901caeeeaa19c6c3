import type { Provider } from '../provider/provider.js';
import { BoundedMap } from './bounded-map.js';

export interface ExecutionNames {
  readonly name: string;
  readonly version: string;
}

const UNKNOWN: ExecutionNames = { name: 'unknown', version: 'unknown' };
/** Instances whose names are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * Which orchestration an activity belongs to. Known without a query where this process ran
 * the turn that scheduled it; else one statement asks for a whole batch.
 */
export class NamesOfInstances {
  private readonly known = new BoundedMap<string, ExecutionNames>(MAX_REMEMBERED);

  constructor(private readonly provider: Provider) {}

  remember(instance: string, names: ExecutionNames): void {
    this.known.set(instance, { name: names.name, version: names.version });
  }

  get(instance: string): ExecutionNames {
    return this.known.get(instance) ?? UNKNOWN;
  }

  /** Looks up what is not known yet; what fails stays `unknown`, as in native. */
  async load(instances: Iterable<string>): Promise<void> {
    const missing = new Set<string>();
    for (const instance of instances) if (this.known.get(instance) === undefined) missing.add(instance);
    if (missing.size === 0) return;
    const states = await this.provider.instanceStates({ instances: [...missing], endedOnly: false }).catch(() => []);
    for (const { instance, orchestrationName, orchestrationVersion } of states) {
      this.known.set(instance, { name: orchestrationName, version: orchestrationVersion });
    }
  }
}

import {
  createNoopMeter,
  type Meter,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  trace,
} from '@opentelemetry/api';
import { type Instruments, makeInstruments } from './instruments.js';
import type { SdkGuard } from './sdk-guard.js';

/**
 * Whether no SDK is registered: then every span of the global tracer would be made for
 * nobody. Asked anew each time, because an SDK may be registered later.
 */
export function isSilent(name: string, guard: SdkGuard): boolean {
  try {
    const provider = trace.getTracerProvider();
    return provider instanceof ProxyTracerProvider && provider.getDelegateTracer(name) === undefined;
  } catch (error) {
    guard.failed('find a tracer', error);
    return true;
  }
}

/** The instruments of the moment; `undefined` while nobody measures. */
export interface InstrumentSource {
  current(): Instruments | undefined;
  /** Calls back with the instruments as soon as there are some, and with each that replace them; returns the end of it. */
  follow(use: (instruments: Instruments) => () => void): () => void;
}

/** Those of a meter that the application hands in. */
export class GivenInstruments implements InstrumentSource {
  private readonly instruments: Instruments | undefined;

  constructor(meter: Meter, guard: SdkGuard) {
    this.instruments = guard.call('measure', () => makeInstruments(meter, guard), undefined);
  }

  current(): Instruments | undefined {
    return this.instruments;
  }

  follow(use: (instruments: Instruments) => () => void): () => void {
    return this.instruments ? use(this.instruments) : () => undefined;
  }
}

const NOOP_METER = createNoopMeter();

/**
 * Those of the global meter provider. The API gives tracers that find a provider which is
 * registered later, but no such meters: so it is asked each time which provider there is,
 * and instruments are made anew when it is another one.
 */
export class GlobalInstruments implements InstrumentSource {
  private provider: MeterProvider | undefined;
  private instruments: Instruments | undefined;
  private readonly followers = new Set<Follower>();

  constructor(
    private readonly name: string,
    private readonly version: string,
    private readonly guard: SdkGuard,
  ) {}

  current(): Instruments | undefined {
    const provider = metrics.getMeterProvider();
    if (provider !== this.provider) this.change(provider);
    return this.instruments;
  }

  follow(use: (instruments: Instruments) => () => void): () => void {
    const follower: Follower = { use, stop: undefined };
    const instruments = this.current();
    this.followers.add(follower);
    if (instruments) follower.stop = use(instruments);
    return () => {
      this.followers.delete(follower);
      follower.stop?.();
    };
  }

  private change(provider: MeterProvider): void {
    this.provider = provider;
    const made = () => {
      const meter = provider.getMeter(this.name, this.version);
      return meter === NOOP_METER ? undefined : makeInstruments(meter, this.guard);
    };
    this.instruments = this.guard.call('measure', made, undefined);
    for (const follower of this.followers) {
      follower.stop?.();
      follower.stop = this.instruments && follower.use(this.instruments);
    }
  }
}

interface Follower {
  readonly use: (instruments: Instruments) => () => void;
  stop: (() => void) | undefined;
}

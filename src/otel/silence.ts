import { ProxyTracerProvider, trace } from '@opentelemetry/api';

/**
 * Whether no SDK is registered: then every span of the global tracer would be made for
 * nobody. Asked anew each time, because an SDK may be registered later.
 */
export function isSilent(name: string): boolean {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider && provider.getDelegateTracer(name) === undefined;
}

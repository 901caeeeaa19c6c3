/** `duroxide-drizzle/otel`: spans and metrics; needs the package `@opentelemetry/api`. */
export { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.js';
export { withTraceContext } from './trace-context-logger.js';
export type { Telemetry } from '../provider/telemetry.js';

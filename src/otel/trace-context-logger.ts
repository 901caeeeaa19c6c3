import { context, type SpanContext, trace } from '@opentelemetry/api';
import type { LogFields, Logger } from '../base/logger.js';

/** A logger whose lines name the span that is active, as `trace_id` and `span_id`, for joining logs with traces. */
export function withTraceContext(logger: Logger): Logger {
  const line = (level: keyof Logger) => (fields: LogFields, message: string) => {
    const span = activeSpan();
    logger[level](span ? { ...fields, trace_id: span.traceId, span_id: span.spanId } : fields, message);
  };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

/** A line is worth more than the name of its span: an SDK that throws costs only the latter. */
function activeSpan(): SpanContext | undefined {
  try {
    return trace.getSpan(context.active())?.spanContext();
  } catch {
    return undefined;
  }
}

import { type Context, isSpanContextValid, type SpanContext, trace, TraceFlags } from '@opentelemetry/api';

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The W3C `traceparent` of a span, or `undefined` for one that is not recorded anywhere. */
export function traceparentOf(span: SpanContext): string | undefined {
  if (!isSpanContextValid(span)) return undefined;
  const flags = (span.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  return `00-${span.traceId}-${span.spanId}-${flags}`;
}

/** `parent` with the span that a `traceparent` names as its remote one; unchanged for a text that is none. */
export function withTraceparent(parent: Context, text: string | undefined): Context {
  const [, traceId, spanId, flags] = (text === undefined ? undefined : TRACEPARENT.exec(text)) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return parent;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(span) ? trace.setSpanContext(parent, span) : parent;
}

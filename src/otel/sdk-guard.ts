import {
  type Attributes,
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  type SpanStatus,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { guardedLogger, type Logger } from '../base/logger.js';

/** What of the SDK failed; each is reported once. */
type SdkCall = 'start a span' | 'change a span' | 'end a span' | 'enter a context' | 'find a tracer' | 'measure';

/**
 * The one way into the application's SDK. A tracer, span processor or meter that throws must
 * never stop work: the first failure of a kind is reported, and work goes on unobserved.
 */
export class SdkGuard {
  private readonly reported = new Set<SdkCall>();
  private readonly logger: Logger;

  constructor(logger: Logger) {
    this.logger = guardedLogger(logger);
  }

  /** The answer, or `otherwise` when the call throws. */
  call<T>(what: SdkCall, call: () => T, otherwise: T): T {
    try {
      return call();
    } catch (error) {
      this.failed(what, error);
      return otherwise;
    }
  }

  failed(what: SdkCall, error: unknown): void {
    if (this.reported.has(what)) return;
    this.reported.add(what);
    this.logger.warn(
      { error },
      `OpenTelemetry could not ${what}; work goes on without, and this is not reported again`,
    );
  }

  active(): Context {
    return this.call('enter a context', () => context.active(), ROOT_CONTEXT);
  }

  /** A span; where none can be made, one that records nothing and passes the parent's trace on. */
  startSpan(tracer: Tracer, name: string, options: SpanOptions, parent: Context): Span {
    try {
      return tracer.startSpan(name, options, parent);
    } catch (error) {
      this.failed('start a span', error);
      return trace.wrapSpanContext(this.spanContext(trace.getSpan(parent)));
    }
  }

  spanContext(span: Span | undefined): SpanContext {
    return this.call('change a span', () => span?.spanContext(), undefined) ?? INVALID_SPAN_CONTEXT;
  }

  /** Says how it went, and ends the span, whatever becomes of the former. */
  end(span: Span, { attributes, status }: { attributes?: Attributes; status?: SpanStatus | undefined } = {}): void {
    if (attributes) this.call('change a span', () => void span.setAttributes(attributes), undefined);
    if (status) this.call('change a span', () => void span.setStatus(status), undefined);
    this.call('end a span', () => span.end(), undefined);
  }

  /** Runs `code` once, inside of the context if it can be entered; what it throws is its own. */
  within<T>(entered: Context, code: () => T): T {
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
    const run = (): T => {
      try {
        const value = code();
        outcome = { value };
        return value;
      } catch (error) {
        outcome = { error };
        throw error;
      }
    };
    try {
      return context.with(entered, run);
    } catch (error) {
      if (outcome && 'error' in outcome) throw outcome.error;
      this.failed('enter a context', error);
      return outcome ? outcome.value : code();
    }
  }
}

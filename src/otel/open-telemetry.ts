import {
  type Meter,
  ProxyTracerProvider,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { consoleLogger, type Logger } from '../base/logger.js';
import { PACKAGE_VERSION } from '../base/package-version.js';
import type { AckOrchestrationItem, Provider, TransactionScope } from '../provider/provider.js';
import type { QueuedStart, QueueStartOutcome } from '../provider/start-queues.js';
import type { ActivityEnd, ActivityFacts, ObservedTurn, Telemetry, TurnFacts } from '../provider/telemetry.js';
import { targetInstance, type WorkItem } from '../wire/work-item.js';
import type { Instruments } from './instruments.js';
import { observedProvider, reasonOf, statusOf } from './observed-provider.js';
import { SdkGuard } from './sdk-guard.js';
import { GivenInstruments, GlobalInstruments, type InstrumentSource, isSilent } from './silence.js';
import { traceparentOf, withTraceparent } from './traceparent.js';

export interface OpenTelemetryOptions {
  /** @defaultValue the tracer `duroxide-drizzle` of the global provider */
  readonly tracer?: Tracer | undefined;
  /** @defaultValue the meter `duroxide-drizzle` of the global provider */
  readonly meter?: Meter | undefined;
  /** Where it is reported that the SDK throws, once for each kind of call. @defaultValue warnings on stderr */
  readonly logger?: Logger | undefined;
}

/** Executions whose trace is remembered, so that later turns join it. */
const MAX_REMEMBERED = 10_000;

const NAME = 'duroxide-drizzle';

/** A turn that nobody hears of. */
const UNOBSERVED: ObservedTurn = { run: (code) => code(), stamp: (ack) => ack, end: () => {} };

/**
 * Spans and metrics by `@opentelemetry/api`, for the option `telemetry` of clients and
 * runtimes; one may serve all of them.
 *
 * A start carries the context of its caller to the first turn, a turn carries its own to
 * its activities and children: in the field `trace` of their messages and nowhere else, so
 * no history depends on it. Later turns join the trace while their process remembers the
 * execution; after a restart, or on another worker, a turn begins a trace of its own.
 *
 * An SDK that throws is reported and stops nothing.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracer } = options;
  const guard = new SdkGuard(options.logger ?? consoleLogger);
  return new OpenTelemetry(
    guard,
    tracer ?? globalTracer(guard),
    options.meter ? new GivenInstruments(options.meter, guard) : new GlobalInstruments(NAME, PACKAGE_VERSION, guard),
    tracer ? () => false : () => isSilent(NAME, guard),
  );
}

function globalTracer(guard: SdkGuard): Tracer {
  const get = () => trace.getTracer(NAME, PACKAGE_VERSION);
  return guard.call('find a tracer', get, undefined) ?? new ProxyTracerProvider().getTracer(NAME, PACKAGE_VERSION);
}

class OpenTelemetry implements Telemetry {
  /** `traceparent` by instance and execution; the one used last stands last. */
  private readonly traces = new Map<string, string>();
  private readonly turnSpans = new Map<string, SpanContext>();

  constructor(
    private readonly guard: SdkGuard,
    private readonly tracer: Tracer,
    private readonly instruments: InstrumentSource,
    /** Nobody gets spans: they are left out, and the metrics stay. */
    private readonly isSilent: () => boolean,
  ) {}

  observe(provider: Provider): Provider {
    const { guard, tracer, instruments, isSilent } = this;
    return observedProvider(provider, {
      guard,
      tracer,
      isSilent,
      instruments,
      turnSpan: (lockToken) => this.turnSpans.get(lockToken),
      scope: (scope) => this.observedScope(scope),
    });
  }

  clientCall(item: WorkItem, send: (item: WorkItem) => Promise<void>): Promise<void> {
    if (this.isSilent()) return send(item);
    const { guard } = this;
    const parent = guard.active();
    const options = {
      kind: SpanKind.PRODUCER,
      attributes: {
        'duroxide.instance': targetInstance(item),
        ...('orchestration' in item && { 'duroxide.orchestration': item.orchestration }),
        ...('name' in item && { 'duroxide.name': item.name }),
      },
    };
    const span = guard.startSpan(this.tracer, `duroxide.client.${item.kind}`, options, parent);
    const traceparent = traceparentOf(guard.spanContext(span));
    const call = guard.within(trace.setSpan(parent, span), () => send(stamped(item, traceparent)));
    return ended(guard, span, call);
  }

  turn(facts: TurnFacts): ObservedTurn {
    const { instance, executionId, orchestration, isWarm, lockToken } = facts;
    const { guard } = this;
    const measure = this.measuredTurn(facts);
    const key = `${executionId}:${instance}`;
    const traced = facts.trace ?? (this.traces.size > 0 ? this.traces.get(key) : undefined);
    // The trace of somebody else goes on through a process without an SDK.
    if (traced === undefined && this.isSilent()) return measure ? { ...UNOBSERVED, end: measure } : UNOBSERVED;
    const parent = withTraceparent(guard.active(), traced);
    const span = guard.startSpan(
      this.tracer,
      `duroxide.turn ${orchestration}`,
      {
        kind: SpanKind.CONSUMER,
        attributes: {
          'duroxide.instance': instance,
          'duroxide.execution': executionId,
          'duroxide.orchestration': orchestration,
          'duroxide.version': facts.version,
          'duroxide.warm': isWarm,
          'duroxide.attempt': facts.attempt,
          'duroxide.messages': facts.messages,
        },
      },
      parent,
    );
    const spanContext = guard.spanContext(span);
    const traceparent = traceparentOf(spanContext);
    this.turnSpans.set(lockToken, spanContext);
    this.remember(key, facts.trace ?? traceparent);
    return {
      run: (code) => guard.within(trace.setSpan(parent, span), code),
      stamp: (ack) => stampedAck(ack, traceparent),
      end: (outcome, error) => {
        this.turnSpans.delete(lockToken);
        if (outcome !== 'continued') this.traces.delete(key);
        measure?.(outcome);
        guard.end(span, { attributes: { 'duroxide.outcome': outcome }, status: statusOf(error) });
      },
    };
  }

  /** Counts a turn; returns what is told of its end. `undefined`: nobody measures. */
  private measuredTurn({ orchestration, isWarm, attempt }: TurnFacts): ((outcome: string) => void) | undefined {
    const instruments = this.instruments.current();
    if (!instruments) return undefined;
    const beganAt = performance.now();
    instruments.cacheLookups.add(1, { result: isWarm ? 'hit' : 'miss' });
    if (attempt > 1) instruments.retries.add(1, { kind: 'turn' });
    return (outcome) => {
      const attributes = { orchestration, outcome, warm: isWarm };
      instruments.turns.add(1, attributes);
      instruments.turnDuration.record(performance.now() - beganAt, attributes);
    };
  }

  activity<T>(facts: ActivityFacts, run: () => T | Promise<T>, endOf: (result: T) => ActivityEnd): T | Promise<T> {
    const { guard } = this;
    const { activity, orchestration, instance } = facts;
    const instruments = this.instruments.current();
    const isSilentHere = facts.trace === undefined && this.isSilent();
    if (!instruments && isSilentHere) return run();
    const beganAt = performance.now();
    if (facts.attempt > 1) instruments?.retries.add(1, { kind: 'activity' });
    const measured = (result: T): ActivityEnd => {
      const outcome = endOf(result);
      instruments?.activities.add(1, { activity, outcome });
      instruments?.activityDuration.record(performance.now() - beganAt, { activity, outcome });
      return outcome;
    };
    if (isSilentHere) return whenEnded(run(), measured);
    const parent = withTraceparent(guard.active(), facts.trace);
    const span = guard.startSpan(
      this.tracer,
      `duroxide.activity ${activity}`,
      {
        kind: SpanKind.CONSUMER,
        attributes: {
          'duroxide.instance': instance,
          'duroxide.execution': facts.executionId,
          'duroxide.orchestration': orchestration,
          'duroxide.activity': activity,
          'duroxide.worker': facts.workerId,
          'duroxide.attempt': facts.attempt,
        },
      },
      parent,
    );
    return whenEnded(guard.within(trace.setSpan(parent, span), run), (result) => {
      const outcome = measured(result);
      guard.end(span, {
        attributes: { 'duroxide.outcome': outcome },
        // The text of the failure may hold what the handler was given.
        status: outcome === 'completed' ? undefined : { code: SpanStatusCode.ERROR },
      });
    });
  }

  watchQueues(provider: Provider): () => void {
    return this.instruments.follow((instruments) => watchQueues(provider, instruments));
  }

  /** Calls of a client inside a transaction are not batched: each has its own span. */
  private observedScope(scope: TransactionScope): TransactionScope {
    return {
      enqueueForOrchestrator: (elements) => {
        const [element] = elements;
        if (elements.length !== 1 || !element) return scope.enqueueForOrchestrator(elements);
        return this.clientCall(element.item, (item) => scope.enqueueForOrchestrator([{ ...element, item }]));
      },
      enqueueForWorker: (items) => scope.enqueueForWorker(items),
      enqueueStartIfAbsent: async (start) => {
        let isAdded = false;
        await this.clientCall(start, async (item) => {
          isAdded = await scope.enqueueStartIfAbsent(item as typeof start);
        });
        return isAdded;
      },
      ...(scope.queueStart && {
        queueStart: async (start: QueuedStart) => {
          let outcome: QueueStartOutcome = 'exists';
          await this.clientCall(start.item, async (item) => {
            outcome = (await scope.queueStart?.({ ...start, item: item as typeof start.item })) ?? outcome;
          });
          return outcome;
        },
      }),
      ackWorkItems: (elements) => scope.ackWorkItems(elements),
    };
  }

  private remember(key: string, traceparent: string | undefined): void {
    if (traceparent === undefined) return;
    this.traces.delete(key);
    this.traces.set(key, traceparent);
    const oldest = this.traces.keys().next();
    if (this.traces.size > MAX_REMEMBERED && !oldest.done) this.traces.delete(oldest.value);
  }
}

/** Reports the backlog of both queues until the returned function is called. */
function watchQueues(provider: Provider, { queueDepth, queueAge, operationErrors }: Instruments): () => void {
  const depths = new Map<string, { readonly ready: number; readonly ageMs: number }>();
  const read = async () => {
    for (const { queue, ready, oldestAtMs } of await provider.asManagement().getQueueBacklogs()) {
      const ageMs = oldestAtMs === null ? 0 : Math.max(0, provider.nowMs() - oldestAtMs);
      depths.set(queue, { ready, ageMs });
    }
  };
  // The reader of the depth asks for both; a store that does not answer leaves a gap in the series.
  const depth = async (result: { observe(value: number, attributes: { queue: string }): void }) => {
    depths.clear();
    await read().catch((error: unknown) => {
      operationErrors.add(1, { 'duroxide.operation': 'getQueueBacklogs', reason: reasonOf(error) });
    });
    for (const [queue, { ready }] of depths) result.observe(ready, { queue });
  };
  const age = async (result: { observe(value: number, attributes: { queue: string }): void }) => {
    await read().catch(() => depths.clear());
    for (const [queue, { ageMs }] of depths) result.observe(ageMs, { queue });
  };
  queueDepth.addCallback(depth);
  queueAge.addCallback(age);
  return () => {
    queueDepth.removeCallback(depth);
    queueAge.removeCallback(age);
  };
}

/** The result as it was, after a look at it. */
function whenEnded<T>(result: T | Promise<T>, look: (result: T) => unknown): T | Promise<T> {
  const seen = (value: T): T => {
    look(value);
    return value;
  };
  return result instanceof Promise ? result.then(seen) : seen(result);
}

async function ended(guard: SdkGuard, span: Span, call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    guard.end(span, { status: statusOf(error ?? 'unknown') });
    throw error;
  }
  guard.end(span);
}

/** The two kinds of messages that carry a context (provider.md 2.2). */
function stamped(item: WorkItem, traceparent: string | undefined): WorkItem {
  if (item.kind !== 'StartOrchestration' && item.kind !== 'ActivityExecute') return item;
  return traceparent === undefined ? item : { ...item, trace: traceparent };
}

function stampedAck(ack: AckOrchestrationItem, traceparent: string | undefined): AckOrchestrationItem {
  return {
    ...ack,
    workerItems: ack.workerItems.map((item) => stamped(item, traceparent)),
    orchestratorItems: ack.orchestratorItems.map((item) => stamped(item, traceparent)),
  };
}

import {
  context,
  type Meter,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { PACKAGE_VERSION } from '../base/package-version.js';
import type { AckOrchestrationItem, Provider, TransactionScope } from '../provider/provider.js';
import type { QueuedStart, QueueStartOutcome } from '../provider/start-queues.js';
import type { ActivityEnd, ActivityFacts, ObservedTurn, Telemetry, TurnFacts } from '../provider/telemetry.js';
import { targetInstance, type WorkItem } from '../wire/work-item.js';
import type { Instruments } from './instruments.js';
import { observedProvider, reasonOf } from './observed-provider.js';
import { GivenInstruments, GlobalInstruments, type InstrumentSource, isSilent } from './silence.js';
import { traceparentOf, withTraceparent } from './traceparent.js';

export interface OpenTelemetryOptions {
  /** @defaultValue the tracer `duroxide-drizzle` of the global provider */
  readonly tracer?: Tracer | undefined;
  /** @defaultValue the meter `duroxide-drizzle` of the global provider */
  readonly meter?: Meter | undefined;
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
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracer } = options;
  return new OpenTelemetry(
    tracer ?? trace.getTracer(NAME, PACKAGE_VERSION),
    options.meter ? new GivenInstruments(options.meter) : new GlobalInstruments(NAME, PACKAGE_VERSION),
    tracer ? () => false : () => isSilent(NAME),
  );
}

class OpenTelemetry implements Telemetry {
  /** `traceparent` by instance and execution; the one used last stands last. */
  private readonly traces = new Map<string, string>();
  private readonly turnSpans = new Map<string, SpanContext>();

  constructor(
    private readonly tracer: Tracer,
    private readonly instruments: InstrumentSource,
    /** Nobody gets spans: they are left out, and the metrics stay. */
    private readonly isSilent: () => boolean,
  ) {}

  observe(provider: Provider): Provider {
    const { tracer, instruments, isSilent } = this;
    return observedProvider(provider, {
      tracer,
      isSilent,
      instruments,
      turnSpan: (lockToken) => this.turnSpans.get(lockToken),
      scope: (scope) => this.observedScope(scope),
    });
  }

  clientCall(item: WorkItem, send: (item: WorkItem) => Promise<void>): Promise<void> {
    if (this.isSilent()) return send(item);
    const span = this.tracer.startSpan(`duroxide.client.${item.kind}`, {
      kind: SpanKind.PRODUCER,
      attributes: {
        'duroxide.instance': targetInstance(item),
        ...('orchestration' in item && { 'duroxide.orchestration': item.orchestration }),
        ...('name' in item && { 'duroxide.name': item.name }),
      },
    });
    return ended(
      span,
      context.with(trace.setSpan(context.active(), span), () => send(stamped(item, span))),
    );
  }

  turn(facts: TurnFacts): ObservedTurn {
    const { instance, executionId, orchestration, isWarm, lockToken } = facts;
    const measure = this.measuredTurn(facts);
    const key = `${executionId}:${instance}`;
    const traced = facts.trace ?? (this.traces.size > 0 ? this.traces.get(key) : undefined);
    // The trace of somebody else goes on through a process without an SDK.
    if (traced === undefined && this.isSilent()) return measure ? { ...UNOBSERVED, end: measure } : UNOBSERVED;
    const parent = withTraceparent(context.active(), traced);
    const span = this.tracer.startSpan(
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
    this.turnSpans.set(lockToken, span.spanContext());
    this.remember(key, facts.trace ?? traceparentOf(span.spanContext()));
    return {
      run: (code) => context.with(trace.setSpan(parent, span), code),
      stamp: (ack) => stampedAck(ack, span),
      end: (outcome, error) => {
        this.turnSpans.delete(lockToken);
        if (outcome !== 'continued') this.traces.delete(key);
        measure?.(outcome);
        span.setAttribute('duroxide.outcome', outcome);
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: reasonOf(error) });
        span.end();
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
    const parent = withTraceparent(context.active(), facts.trace);
    const span = this.tracer.startSpan(
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
    return whenEnded(context.with(trace.setSpan(parent, span), run), (result) => {
      const outcome = measured(result);
      span.setAttribute('duroxide.outcome', outcome);
      // The text of the failure may hold what the handler was given.
      if (outcome !== 'completed') span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
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

async function ended(span: Span, call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: reasonOf(error) });
    throw error;
  } finally {
    span.end();
  }
}

/** The two kinds of messages that carry a context (provider.md 2.2). */
function stamped(item: WorkItem, span: Span): WorkItem {
  if (item.kind !== 'StartOrchestration' && item.kind !== 'ActivityExecute') return item;
  const traceparent = traceparentOf(span.spanContext());
  return traceparent === undefined ? item : { ...item, trace: traceparent };
}

function stampedAck(ack: AckOrchestrationItem, span: Span): AckOrchestrationItem {
  return {
    ...ack,
    workerItems: ack.workerItems.map((item) => stamped(item, span)),
    orchestratorItems: ack.orchestratorItems.map((item) => stamped(item, span)),
  };
}

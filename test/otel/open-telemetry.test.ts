import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  context,
  createNoopMeter,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { Client } from '../../src/client/client.js';
import { openTelemetry, type OpenTelemetryOptions, withTraceContext } from '../../src/otel/index.js';
import type { Telemetry } from '../../src/provider/telemetry.js';
import { Runtime } from '../../src/runtime/runtime.js';
import { activity, orchestration } from '../../src/typed/definitions.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { MemoryProvider } from '../support/memory-provider.js';

const manager = new AsyncLocalStorageContextManager();
beforeAll(() => void context.setGlobalContextManager(manager.enable()));
afterAll(() => context.disable());

const spans = new InMemorySpanExporter();
const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const tracer = tracers.getTracer('test');
let exporter: InMemoryMetricExporter;
let reader: PeriodicExportingMetricReader;
let meters: MeterProvider;
let telemetry: Telemetry;

const seen: { trace: string | undefined; name: string }[] = [];
const inside = () => trace.getSpan(context.active())?.spanContext().traceId;
const leaf = activity('leaf', async (_ctx, n: number) => {
  seen.push({ name: 'leaf', trace: inside() });
  await new Promise((resolve) => setImmediate(resolve));
  seen.push({ name: 'leaf later', trace: inside() });
  if (n < 0) throw new Error('secret');
  return n;
});
const child = orchestration('child', async (ctx, n: number) => {
  seen.push({ name: 'child', trace: inside() });
  return ctx.call(leaf, n);
});
const parent = orchestration('parent', async (ctx, n: number) => {
  const first = await ctx.call(leaf, n);
  return first + (await ctx.call(child, n));
});

/** Keeps the messages as they come to the store. */
class Recording extends MemoryProvider {
  readonly items: WorkItem[] = [];
  readonly eventTexts: string[] = [];
  override enqueueForOrchestrator(elements: Parameters<MemoryProvider['enqueueForOrchestrator']>[0]) {
    this.items.push(...elements.map(({ item }) => item));
    return super.enqueueForOrchestrator(elements);
  }
  override ackOrchestrationItems(turns: Parameters<MemoryProvider['ackOrchestrationItems']>[0]) {
    for (const turn of turns) {
      this.items.push(...turn.workerItems, ...turn.orchestratorItems);
      this.eventTexts.push(...turn.historyDelta.map((event) => JSON.stringify(event)));
    }
    return super.ackOrchestrationItems(turns);
  }
}

/** Three messages that wait, the oldest for 5 s: the memory store has no statistics of its own. */
class Waiting extends Recording {
  override asManagement() {
    const nowMs = this.nowMs();
    return Object.assign(super.asManagement(), {
      getQueueBacklogs: async () => [
        { queue: 'orchestrator' as const, ready: 3, isAtLeast: false, oldestAtMs: nowMs - 5_000 },
        { queue: 'worker' as const, ready: 0, isAtLeast: false, oldestAtMs: null },
      ],
    });
  }
}

let store: Recording;
let runtime: Runtime;
let client: Client;
beforeEach(async () => {
  spans.reset();
  // A shut down exporter keeps nothing any more.
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  seen.length = 0;
  reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  meters = new MeterProvider({ readers: [reader] });
  telemetry = openTelemetry({ tracer, meter: meters.getMeter('test') });
  store = new Waiting(new FakeClock());
  runtime = new Runtime(store, { telemetry, logger: silentLogger });
  runtime.register(leaf, child, parent);
  client = new Client(store, { telemetry });
  await runtime.start();
});
afterEach(async () => {
  await runtime.shutdown();
  await meters.shutdown();
});

const named = (name: string): ReadableSpan[] => spans.getFinishedSpans().filter((span) => span.name === name);
const isOf =
  (...kinds: WorkItem['kind'][]) =>
  ({ kind }: WorkItem) =>
    kinds.includes(kind);

describe('spans', () => {
  test('OB: one trace from the caller through turns, activities and children', async () => {
    const request = tracer.startSpan('request');
    const { traceId } = request.spanContext();
    const handle = await context.with(trace.setSpan(context.active(), request), () => client.start(parent, 2));
    expect(await handle.result()).toBe(4);
    request.end();
    await runtime.shutdown();
    for (const name of ['duroxide.client.StartOrchestration', 'duroxide.turn parent', 'duroxide.turn child']) {
      expect(named(name).map((span) => span.spanContext().traceId)).toEqual(named(name).map(() => traceId));
    }
    // Two turns of the parent's activity, one of the child's result; the child has two.
    expect(named('duroxide.turn parent')).toHaveLength(3);
    expect(named('duroxide.turn child')).toHaveLength(2);
    const [leafSpan] = named('duroxide.activity leaf');
    const [firstTurn] = named('duroxide.turn parent');
    expect(leafSpan?.parentSpanContext?.spanId).toBe(firstTurn?.spanContext().spanId);
    expect(firstTurn?.parentSpanContext?.spanId).toBe(
      named('duroxide.client.StartOrchestration')[0]?.spanContext().spanId,
    );
    expect(firstTurn?.kind).toBe(SpanKind.CONSUMER);
    expect(named('duroxide.turn parent').map(({ attributes }) => attributes['duroxide.outcome'])).toEqual([
      'continued',
      'continued',
      'completed',
    ]);
    expect(seen.map(({ name }) => name).sort()).toEqual(
      ['child', 'child', 'leaf', 'leaf', 'leaf later', 'leaf later'].slice(1),
    );
    expect(new Set(seen.map((each) => each.trace))).toEqual(new Set([traceId]));
  });

  test('the context stands in StartOrchestration and ActivityExecute, and nowhere else', async () => {
    await (await client.start(parent, 2, { id: 'p' })).result();
    await runtime.shutdown();
    const carriers = store.items.filter(isOf('StartOrchestration', 'ActivityExecute'));
    expect(carriers).toHaveLength(4);
    for (const item of carriers)
      expect(item).toHaveProperty('trace', expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/));
    for (const item of store.items.filter((each) => !carriers.includes(each))) expect(item).not.toHaveProperty('trace');
    expect(store.eventTexts.length).toBeGreaterThan(4);
    expect(store.eventTexts.join('\n')).not.toContain('trace');
  });

  test('operations of the store: a batch links its turns, an idle look makes none, failures name no values', async () => {
    await (await client.start(parent, 2)).result();
    await expect((await client.start(parent, -1)).result()).rejects.toThrow('secret');
    await runtime.shutdown();
    const acks = named('duroxide.ackOrchestrationItems');
    const turnIds = new Set(named('duroxide.turn parent').map((span) => span.spanContext().spanId));
    expect(acks.flatMap(({ links }) => links).some((link) => turnIds.has(link.context.spanId))).toBe(true);
    expect(named('duroxide.due')).toEqual([]);
    const fetches = named('duroxide.fetchWorkItems');
    expect(fetches.every(({ attributes }) => Number(attributes['duroxide.batch_size']) > 0)).toBe(true);
    expect(named('duroxide.activity leaf').map(({ attributes }) => attributes['duroxide.outcome'])).toContain('failed');
    expect(
      JSON.stringify(spans.getFinishedSpans().map(({ attributes, status, events }) => [attributes, status, events])),
    ).not.toContain('secret');
  });

  test('log lines name the active span', () => {
    const lines: object[] = [];
    const logger = withTraceContext({ ...silentLogger, info: (fields) => void lines.push(fields) });
    const span = tracer.startSpan('request');
    logger.info({ a: 1 }, 'outside');
    context.with(trace.setSpan(context.active(), span), () => logger.info({ a: 1 }, 'inside'));
    const { traceId, spanId } = span.spanContext();
    expect(lines).toEqual([{ a: 1 }, { a: 1, trace_id: traceId, span_id: spanId }]);
  });
});

test('OB: metrics of turns, activities, batches, the cache and the queues', async () => {
  await (await client.start(parent, 2)).result();
  await reader.forceFlush();
  const points = new Map<string, { value: unknown; attributes: object }[]>();
  for (const { scopeMetrics } of exporter.getMetrics()) {
    for (const { metrics } of scopeMetrics) {
      for (const metric of metrics) points.set(metric.descriptor.name, metric.dataPoints);
    }
  }
  const sum = (name: string, attributes: object = {}) =>
    (points.get(name) ?? [])
      .filter((point) => Object.entries(attributes).every(([key, value]) => (point.attributes as never)[key] === value))
      .reduce(
        (total, { value }) => total + (typeof value === 'number' ? value : (value as { count: number }).count),
        0,
      );
  expect(sum('duroxide.turns', { orchestration: 'parent' })).toBe(3);
  expect(sum('duroxide.turns', { outcome: 'completed' })).toBe(2);
  expect(sum('duroxide.cache_lookups', { result: 'hit' })).toBe(3);
  expect(sum('duroxide.cache_lookups', { result: 'miss' })).toBe(2);
  expect(sum('duroxide.activities', { activity: 'leaf', outcome: 'completed' })).toBe(2);
  expect(sum('duroxide.batch_size')).toBeGreaterThan(5);
  expect(sum('duroxide.operation.duration')).toBeGreaterThan(5);
  expect(points.get('duroxide.queue.depth')?.map(({ attributes, value }) => ({ ...attributes, value }))).toEqual(
    expect.arrayContaining([
      { queue: 'orchestrator', value: 3 },
      { queue: 'worker', value: 0 },
    ]),
  );
  expect(sum('duroxide.queue.age', { queue: 'orchestrator' })).toBe(5_000);
  expect(sum('duroxide.queue.age', { queue: 'worker' })).toBe(0);
  expect(sum('duroxide.retries')).toBe(0);
});

describe('an SDK that throws stops nothing, and is reported once', () => {
  const fail = () => {
    throw new Error('the SDK is broken');
  };
  const tracerWith = (processor: { onStart?: () => void; onEnd?: () => void }) => {
    const rest = { forceFlush: async () => {}, shutdown: async () => {} };
    const spanProcessors = [{ onStart: () => {}, onEnd: () => {}, ...rest, ...processor }];
    return new BasicTracerProvider({ spanProcessors }).getTracer('broken');
  };
  /** A tracer whose spans fail in these methods. */
  const spansWithout = (...methods: (keyof Span)[]): Tracer => ({
    startSpan: (...given) =>
      Object.assign(tracer.startSpan(...given), Object.fromEntries(methods.map((method) => [method, fail]))),
    startActiveSpan: fail,
  });
  const noopMeter = createNoopMeter();
  const meterWith = (overrides: Partial<Meter>): Meter => Object.assign(Object.create(noopMeter) as Meter, overrides);

  const FAULTS: Readonly<Record<string, { options: () => OpenTelemetryOptions; says: string }>> = {
    'onStart of a span processor': { options: () => ({ tracer: tracerWith({ onStart: fail }) }), says: 'start a span' },
    'onEnd of a span processor': { options: () => ({ tracer: tracerWith({ onEnd: fail }) }), says: 'end a span' },
    startSpan: { options: () => ({ tracer: { startSpan: fail, startActiveSpan: fail } }), says: 'start a span' },
    'setAttribute and setStatus': {
      options: () => ({ tracer: spansWithout('setAttribute', 'setAttributes', 'setStatus') }),
      says: 'change a span',
    },
    spanContext: { options: () => ({ tracer: spansWithout('spanContext') }), says: 'change a span' },
    'createCounter of a meter': { options: () => ({ meter: meterWith({ createCounter: fail }) }), says: 'measure' },
    'add and record of a meter': {
      options: () => ({
        meter: meterWith({ createCounter: () => ({ add: fail }), createHistogram: () => ({ record: fail }) }),
      }),
      says: 'measure',
    },
    'addCallback and removeCallback of a meter': {
      options: () => ({
        meter: meterWith({ createObservableGauge: () => ({ addCallback: fail, removeCallback: fail }) }),
      }),
      says: 'measure',
    },
  };

  test.each(Object.entries(FAULTS))('%s', async (_fault, { options, says }) => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    await working(openTelemetry({ ...options(), logger }));
    expect(warnings).toContainEqual(expect.stringContaining(`could not ${says}`));
    expect(warnings).toEqual([...new Set(warnings)]);
  });

  test('a context manager', async () => {
    const entered = jest.spyOn(context, 'with').mockImplementation(fail);
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    try {
      await working(openTelemetry({ tracer, logger }));
    } finally {
      entered.mockRestore();
    }
    expect(warnings).toEqual([expect.stringContaining('could not enter a context')]);
  });

  test('a provider that is registered globally', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    trace.setGlobalTracerProvider({ getTracer: fail });
    metrics.setGlobalMeterProvider({ getMeter: fail });
    try {
      await working(openTelemetry({ logger }));
    } finally {
      trace.disable();
      metrics.disable();
    }
    expect(warnings.sort()).toEqual([
      expect.stringContaining('could not find a tracer'),
      expect.stringContaining('could not measure'),
    ]);
  });

  /** Every kind of call: starts, turns, activities that end well and badly, operations that fail. */
  async function working(broken: Telemetry): Promise<void> {
    const failures: unknown[] = [];
    const logger = { ...silentLogger, error: (_fields: object, message: string) => void failures.push(message) };
    const ofItsOwn = new Waiting(new FakeClock());
    const worker = new Runtime(ofItsOwn, { telemetry: broken, logger });
    const step = activity('step', async (_ctx, n: number) => {
      if (n < 0) throw new Error('secret');
      return n;
    });
    const below = orchestration('below', async (ctx, n: number) => ctx.call(step, n));
    const above = orchestration(
      'above',
      async (ctx, n: number) => (await ctx.call(step, n)) + (await ctx.call(below, n)),
    );
    worker.register(step, below, above);
    const caller = new Client(ofItsOwn, { telemetry: broken });
    await worker.start();
    try {
      expect(await (await caller.start(above, 2)).result()).toBe(4);
      await expect((await caller.start(above, -1)).result()).rejects.toThrow('secret');
      await expect(caller.start(above, 2, { id: '' })).rejects.toThrow();
    } finally {
      await worker.shutdown();
    }
    expect(failures).toEqual([]);
  }
});

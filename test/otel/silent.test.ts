import { afterEach, describe, expect, test } from '@jest/globals';
import { metrics, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { FakeClock } from '../../src/base/clock.js';
import { activityItem } from '../../src/conformance/records.js';
import { ackOf } from '../../src/conformance/trial.js';
import { openTelemetry } from '../../src/otel/index.js';
import type { TurnFacts } from '../../src/provider/telemetry.js';
import { MemoryProvider } from '../support/memory-provider.js';

const facts: TurnFacts = {
  instance: 'x',
  executionId: 1,
  orchestration: 'Orch',
  version: '1.0.0',
  isWarm: false,
  attempt: 1,
  messages: 1,
  lockToken: 'lock',
  trace: undefined,
};
const ack = ackOf({ instance: 'x', lockToken: 'lock' }, { workerItems: [activityItem('x', 2)] });
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('without an SDK', () => {
  test('messages stay as they are, and code runs as it would', async () => {
    const telemetry = openTelemetry();
    const turn = telemetry.turn(facts);
    expect(turn.run(() => 'decided')).toBe('decided');
    expect(turn.stamp(ack)).toBe(ack);
    turn.end('completed');
    const sent: unknown[] = [];
    const item = activityItem('x', 3);
    await telemetry.clientCall(item, async (stamped) => void sent.push(stamped));
    expect(sent).toEqual([item]);
    const ends: unknown[] = [];
    const run = { activity: 'A', orchestration: 'Orch', instance: 'x', executionId: 1, workerId: 'w', attempt: 1 };
    const endOf = (result: string) => (ends.push(result), 'completed' as const);
    expect(telemetry.activity({ ...run, trace: undefined }, () => 'now', endOf)).toBe('now');
    expect(await telemetry.activity({ ...run, trace: undefined }, () => Promise.resolve('later'), endOf)).toBe('later');
    // Nobody is told how it ended.
    expect(ends).toEqual([]);
  });

  test("another process's trace goes on through this one", () => {
    const turn = openTelemetry().turn({ ...facts, trace: TRACE });
    const [stamped] = turn.stamp(ack).workerItems;
    expect(stamped).toMatchObject({ kind: 'ActivityExecute', trace: TRACE });
    turn.end('continued');
  });

  test('an operation of the store is the call itself, and what is handed out is made once', async () => {
    const calls: Promise<unknown>[] = [];
    class Store extends MemoryProvider {
      override getCustomStatus(...given: Parameters<MemoryProvider['getCustomStatus']>) {
        const call = super.getCustomStatus(...given);
        calls.push(call);
        return call;
      }
    }
    const observed = openTelemetry().observe(new Store(new FakeClock()));
    const call = observed.getCustomStatus('x', 0);
    expect(call).toBe(calls[0]);
    await call;
    expect(Reflect.get(observed, 'nowMs')).toBe(Reflect.get(observed, 'nowMs'));
    expect(openTelemetry().turn(facts)).toBe(openTelemetry().turn(facts));
  });
});

describe('an SDK that is registered later', () => {
  afterEach(() => {
    metrics.disable();
    trace.disable();
  });

  test('measures and traces from then on, also the queues that are watched already; another one takes its place', async () => {
    const telemetry = openTelemetry();
    let reads = 0;
    const backlogs = [{ queue: 'orchestrator' as const, ready: 3, isAtLeast: false, oldestAtMs: null }];
    const store = new MemoryProvider(new FakeClock());
    const observed = telemetry.observe(
      Object.assign(store, { asManagement: () => ({ getQueueBacklogs: async () => (reads++, backlogs) }) }),
    );
    const unwatch = telemetry.watchQueues(observed);
    const use = async () => {
      telemetry.turn(facts).end('completed');
      await telemetry.activity(
        run,
        () => 'x',
        () => 'completed',
      );
      await observed.getCustomStatus('x', 0);
    };
    await use();

    const first = newMeters();
    metrics.setGlobalMeterProvider(first.provider);
    const spans = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
    await use();
    await use();
    expect(await first.read()).toEqual({
      'duroxide.turns': 2,
      'duroxide.activities': 2,
      'duroxide.cache_lookups': 2,
      'duroxide.queue.depth': 3,
      'duroxide.queue.age': 0,
    });
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual([
      ...['duroxide.turn Orch', 'duroxide.activity A', 'duroxide.getCustomStatus'],
      ...['duroxide.turn Orch', 'duroxide.activity A', 'duroxide.getCustomStatus'],
    ]);

    metrics.disable();
    const second = newMeters();
    metrics.setGlobalMeterProvider(second.provider);
    await use();
    expect(await second.read()).toMatchObject({ 'duroxide.turns': 1, 'duroxide.queue.depth': 3 });
    unwatch();
    const readsBefore = reads;
    await second.read();
    expect(reads).toBe(readsBefore);
    metrics.disable();
    await use();
    expect(await second.read()).toMatchObject({ 'duroxide.turns': 1 });
    await first.provider.shutdown();
    await second.provider.shutdown();
  });
});

const run = {
  ...{ activity: 'A', orchestration: 'Orch', instance: 'x', executionId: 1, workerId: 'w', attempt: 1 },
  trace: undefined,
};

/** Counters and gauges, as they are read. */
function newMeters() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const provider = new MeterProvider({ readers: [reader] });
  const read = async () => {
    exporter.reset();
    await reader.forceFlush();
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    const points = scopes.flatMap(({ metrics: all }) =>
      all.flatMap(({ descriptor, dataPoints }) => dataPoints.map(({ value }) => [descriptor.name, value] as const)),
    );
    return Object.fromEntries(points.filter(([, value]) => typeof value === 'number'));
  };
  return { provider, read };
}

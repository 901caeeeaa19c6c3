import type { Attributes, Counter, Histogram, Meter, ObservableCallback, ObservableGauge } from '@opentelemetry/api';
import type { SdkGuard } from './sdk-guard.js';

/** The metrics, by their names in OpenTelemetry. Times are in ms. */
export function makeInstruments(meter: Meter, guard: SdkGuard) {
  const counter = (name: string, description: string) =>
    guardedCounter(meter.createCounter(`duroxide.${name}`, { description }), guard);
  const duration = (name: string, description: string) =>
    guardedHistogram(meter.createHistogram(`duroxide.${name}`, { description, unit: 'ms' }), guard);
  return {
    turns: counter('turns', 'Turns, by orchestration, outcome, and whether the live execution was kept in memory'),
    turnDuration: duration('turn.duration', 'From the beginning of a turn until it is stored'),
    activities: counter('activities', 'Activities, by name and outcome'),
    activityDuration: duration('activity.duration', 'How long handlers run'),
    retries: counter('retries', 'Turns and activities that were fetched before'),
    lostCandidates: counter('lost_candidates', 'Instances that were ready but went to another worker'),
    lockRenewals: counter('lock_renewals', 'Renewed locks, by kind and whether it succeeded'),
    cacheLookups: counter(
      'cache_lookups',
      'Turns by whether they went on with a live execution (hit) or replayed (miss)',
    ),
    batchSize: guardedHistogram(
      meter.createHistogram('duroxide.batch_size', { description: 'Elements of one call of the store, by operation' }),
      guard,
    ),
    operationDuration: duration('operation.duration', 'How long calls of the store take'),
    operationErrors: counter('operation.errors', 'Calls of the store that failed, by operation'),
    queueDepth: guardedGauge(
      meter.createObservableGauge('duroxide.queue.depth', {
        description: 'Messages that wait and are due, exact up to 10,000',
      }),
      guard,
    ),
    queueAge: guardedGauge(
      meter.createObservableGauge('duroxide.queue.age', {
        description: 'How long the oldest message that is due has waited',
        unit: 'ms',
      }),
      guard,
    ),
  };
}

function guardedCounter(counter: Counter, guard: SdkGuard) {
  const add = (value: number, attributes?: Attributes) =>
    guard.call('measure', () => counter.add(value, attributes), undefined);
  return { add };
}

function guardedHistogram(histogram: Histogram, guard: SdkGuard) {
  const record = (value: number, attributes?: Attributes) =>
    guard.call('measure', () => histogram.record(value, attributes), undefined);
  return { record };
}

function guardedGauge(gauge: ObservableGauge, guard: SdkGuard) {
  return {
    addCallback: (callback: ObservableCallback) => guard.call('measure', () => gauge.addCallback(callback), undefined),
    removeCallback: (callback: ObservableCallback) =>
      guard.call('measure', () => gauge.removeCallback(callback), undefined),
  };
}

export type Instruments = ReturnType<typeof makeInstruments>;

import type { Meter } from '@opentelemetry/api';

/** The metrics, by their names in OpenTelemetry. Times are in ms. */
export function makeInstruments(meter: Meter) {
  const counter = (name: string, description: string) => meter.createCounter(`duroxide.${name}`, { description });
  const duration = (name: string, description: string) =>
    meter.createHistogram(`duroxide.${name}`, { description, unit: 'ms' });
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
    batchSize: meter.createHistogram('duroxide.batch_size', {
      description: 'Elements of one call of the store, by operation',
    }),
    operationDuration: duration('operation.duration', 'How long calls of the store take'),
    operationErrors: counter('operation.errors', 'Calls of the store that failed, by operation'),
    queueDepth: meter.createObservableGauge('duroxide.queue.depth', {
      description: 'Messages that wait and are due, exact up to 10,000',
    }),
    queueAge: meter.createObservableGauge('duroxide.queue.age', {
      description: 'How long the oldest message that is due has waited',
      unit: 'ms',
    }),
  };
}

export type Instruments = ReturnType<typeof makeInstruments>;

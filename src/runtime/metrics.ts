import type { ErrorDetails } from '../wire/error-details.js';
import type { TurnOutcome } from './replay/turn.js';

/** Counters since the last `start` (runtime.md 1.12). */
export interface MetricsSnapshot {
  orchStarts: number;
  orchCompletions: number;
  orchFailures: number;
  orchApplicationErrors: number;
  orchInfrastructureErrors: number;
  orchConfigurationErrors: number;
  orchPoison: number;
  activitySuccess: number;
  activityAppErrors: number;
  activityInfraErrors: number;
  activityConfigErrors: number;
  activityPoison: number;
  orchDispatcherItemsFetched: number;
  workerDispatcherItemsFetched: number;
  orchContinueAsNew: number;
  suborchestrationCalls: number;
  providerErrors: number;
  /** Ours: results that nobody wanted any more, because the activity was cancelled or its lock was lost (D-17). */
  activityDiscarded: number;
  /** Ours: turns that went on with a live execution instead of a replay. */
  warmTurns: number;
  /** Ours: warm turns that differed from a cold replay; only counted with `verifyWarm`, and a bug. */
  warmMismatches: number;
  /** Ours: locks that ran out or went to somebody else while this runtime worked under them. */
  locksLost: number;
  /** Ours: times that the event loop was blocked for so long that a renewal was late. */
  lateRenewals: number;
  /** Ours: instances that run, as far as this runtime knows: read at start, then counted. */
  activeInstances: number;
  /** Ours: as last read, see `observability.gaugePollIntervalMs`. */
  orchestratorQueueDepth: number;
  workerQueueDepth: number;
}

/** All counters at zero. */
export function newMetrics(): MetricsSnapshot {
  return {
    orchStarts: 0,
    orchCompletions: 0,
    orchFailures: 0,
    orchApplicationErrors: 0,
    orchInfrastructureErrors: 0,
    orchConfigurationErrors: 0,
    orchPoison: 0,
    activitySuccess: 0,
    activityAppErrors: 0,
    activityInfraErrors: 0,
    activityConfigErrors: 0,
    activityPoison: 0,
    orchDispatcherItemsFetched: 0,
    workerDispatcherItemsFetched: 0,
    orchContinueAsNew: 0,
    suborchestrationCalls: 0,
    providerErrors: 0,
    activityDiscarded: 0,
    warmTurns: 0,
    warmMismatches: 0,
    locksLost: 0,
    lateRenewals: 0,
    activeInstances: 0,
    orchestratorQueueDepth: 0,
    workerQueueDepth: 0,
  };
}

/** Counts the end of an execution that failed. */
export function countFailure(metrics: MetricsSnapshot, details: ErrorDetails): void {
  metrics.orchFailures += 1;
  switch (details.kind) {
    case 'Application':
      metrics.orchApplicationErrors += 1;
      break;
    case 'Infrastructure':
      metrics.orchInfrastructureErrors += 1;
      break;
    case 'Configuration':
      metrics.orchConfigurationErrors += 1;
      break;
    case 'Poison':
      metrics.orchPoison += 1;
      break;
  }
}

/** Counts a committed turn; `begins` says that it wrote the first event of its execution. */
export function countTurn(metrics: MetricsSnapshot, turn: TurnOutcome, begins: boolean): void {
  if (begins && turn.executionId === 1) metrics.activeInstances += 1;
  for (const item of turn.orchestratorItems) {
    if (item.kind === 'StartOrchestration' && item.parentInstance !== null) metrics.suborchestrationCalls += 1;
  }
  switch (turn.result.kind) {
    case 'completed':
      metrics.orchCompletions += 1;
      metrics.activeInstances -= 1;
      break;
    case 'failed':
      countFailure(metrics, turn.result.details);
      metrics.activeInstances -= 1;
      break;
    case 'cancelled':
      metrics.orchFailures += 1;
      metrics.orchApplicationErrors += 1;
      metrics.activeInstances -= 1;
      break;
    case 'continuedAsNew':
      metrics.orchContinueAsNew += 1;
      break;
    case 'continued':
    case 'alreadyTerminal':
      break;
  }
}

import type { BeginExecutionCheck } from '../invariant.js';

/**
 * `queue-owner` for activities of an instance that exists: each row of the worker queue is
 * an activity that the current execution scheduled, that it still wants, and whose end it
 * lives to see.
 */
export const workOwner: BeginExecutionCheck = ({ view, executionId, isCurrent, status }, { findings }) => {
  const { instance, work } = view;
  const unwanted = new Map<number, string>();
  const scheduled = new Set<number>();
  const report = (problem: string, eventId: number) =>
    findings.report('queue-owner', { instance, executionId, eventId, table: 'worker_queue', problem });
  const isRelevant = isCurrent && work.size > 0;

  return {
    see({ rowEventId, event }) {
      if (!isRelevant) return;
      if (event.kind === 'ActivityScheduled') scheduled.add(rowEventId);
      if (event.kind === 'ActivityCancelRequested') unwanted.set(event.sourceEventId ?? 0, event.reason);
    },
    end() {
      if (!isRelevant) return;
      for (const key of work.keys()) {
        const [execution, id] = key.split(':').map(Number) as [number, number];
        if (execution !== executionId) {
          report(`an activity of execution ${execution} waits, the current one is ${executionId}`, id);
        } else if (!scheduled.has(id)) {
          report('an activity waits that no event scheduled', id);
        } else if (unwanted.has(id)) {
          report(`an activity waits that was cancelled: ${unwanted.get(id)}`, id);
        } else if (status !== 'Running') {
          report(`an activity waits in an execution that is ${status}`, id);
        }
      }
    },
  };
};

import { decisionKey } from '../instance-view.js';
import type { BeginExecutionCheck } from '../invariant.js';

/** No outcome waits twice, none waits that is recorded already, and no activity waits to run again after its outcome. */
export const completionOnce: BeginExecutionCheck = ({ view, executionId, isCurrent }, { findings }) => {
  const { instance, queued, work } = view;
  const report = (problem: string, eventId: number) =>
    findings.report('completion-once', { instance, executionId, eventId, problem });
  const isRelevant = isCurrent && (queued.outcomes.size > 0 || work.size > 0);

  return {
    see({ event }) {
      if (!isRelevant || event.sourceEventId === null) return;
      const id = event.sourceEventId;
      switch (event.kind) {
        case 'ActivityCompleted':
        case 'ActivityFailed':
          if (queued.outcomes.has(decisionKey('activity', executionId, id))) {
            report('an outcome waits for an activity whose outcome is recorded', id);
          }
          if (work.has(`${executionId}:${id}`)) report('an activity whose outcome is recorded waits to run', id);
          break;
        case 'TimerFired':
          if (queued.outcomes.has(decisionKey('timer', executionId, id))) report('a timer that fired waits again', id);
          break;
        case 'SubOrchestrationCompleted':
        case 'SubOrchestrationFailed':
          if (queued.outcomes.has(decisionKey('child', executionId, id))) {
            report('an outcome waits for a child whose outcome is recorded', id);
          }
          break;
        default:
      }
    },
    end() {
      if (!isCurrent) return;
      for (const [key, rows] of queued.outcomes) {
        if (rows > 1) report(`${rows} outcomes wait for one decision (${key})`, idOf(key));
      }
      for (const [key, rows] of work) {
        if (rows > 1) report(`an activity waits ${rows} times (${key})`, idOf(key));
        const [execution, id] = key.split(':').map(Number) as [number, number];
        if (queued.outcomes.has(decisionKey('activity', execution, id))) {
          report('an activity waits to run although its outcome waits, too', id);
        }
      }
    },
  };
};

function idOf(key: string): number {
  return Number(key.slice(key.lastIndexOf(':') + 1));
}

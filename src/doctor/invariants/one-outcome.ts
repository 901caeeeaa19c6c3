import type { EventKind } from '../../wire/event.js';
import { type DecisionKind, decisionKey } from '../instance-view.js';
import type { BeginExecutionCheck } from '../invariant.js';

const DECISIONS: Partial<Record<EventKind, DecisionKind>> = {
  ActivityScheduled: 'activity',
  TimerCreated: 'timer',
  SubOrchestrationScheduled: 'child',
};
const OUTCOMES: Partial<Record<EventKind, DecisionKind>> = {
  ActivityCompleted: 'activity',
  ActivityFailed: 'activity',
  TimerFired: 'timer',
  SubOrchestrationCompleted: 'child',
  SubOrchestrationFailed: 'child',
};

/** Each decision has at most one outcome, and each outcome, recorded or waiting, its decision. */
export const oneOutcome: BeginExecutionCheck = ({ view, executionId, isCurrent }, { findings }) => {
  const { instance } = view;
  const decided = new Map<number, DecisionKind>();
  const answered = new Set<number>();
  const report = (problem: string, eventId?: number) =>
    findings.report('one-outcome', { instance, executionId, eventId, problem });

  return {
    see({ rowEventId, event }) {
      const decision = DECISIONS[event.kind];
      if (decision) decided.set(rowEventId, decision);
      const outcome = OUTCOMES[event.kind];
      if (!outcome) return;
      const source = event.sourceEventId ?? 0;
      if (decided.get(source) !== outcome) {
        report(`${event.kind} names event ${source}, which is no such decision`, rowEventId);
      } else if (answered.has(source)) {
        report(`${event.kind} is a second outcome of event ${source}`, rowEventId);
      }
      answered.add(source);
    },
    end() {
      if (!isCurrent) return;
      for (const key of view.queued.outcomes.keys()) {
        const { kind, id } = parseKey(key, executionId);
        if (kind !== undefined && decided.get(id) !== kind) {
          report(`an outcome waits for event ${id}, which is no such decision`, id);
        }
      }
    },
  };
};

/** Messages for other executions are dropped by whoever reads them. */
function parseKey(key: string, executionId: number): { readonly kind: DecisionKind | undefined; readonly id: number } {
  const id = Number(key.slice(key.lastIndexOf(':') + 1));
  const kinds: readonly DecisionKind[] = ['activity', 'timer', 'child'];
  return { kind: kinds.find((kind) => key === decisionKey(kind, executionId, id)), id };
}

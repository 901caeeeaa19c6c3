import type { HistoryEvent } from '../../wire/event.js';
import { decisionKey, type InstanceView } from '../instance-view.js';
import type { BeginExecutionCheck } from '../invariant.js';

/**
 * A running execution has something that moves it on, and each decision that it waits for
 * is under way: an activity in the worker queue or its outcome in the mailbox, a timer in
 * the mailbox, a child that lives. Waiting for somebody's event is fine.
 */
export const canProceed: BeginExecutionCheck = (execution, { findings, askChild }) => {
  const { view, executionId, isCurrent, status } = execution;
  const { instance, queued, work } = view;
  const open = new Map<number, HistoryEvent>();
  const waits = new SignalWaits();
  const report = (problem: string, eventId?: number) =>
    findings.report('can-proceed', { instance, executionId, eventId, problem });

  return {
    see({ rowEventId, event }) {
      if (!isCurrent || status !== 'Running') return;
      waits.see(event);
      switch (event.kind) {
        case 'ActivityScheduled':
        case 'TimerCreated':
        case 'SubOrchestrationScheduled':
          open.set(rowEventId, event);
          break;
        case 'ActivityCompleted':
        case 'ActivityFailed':
        case 'ActivityCancelRequested':
        case 'TimerFired':
        case 'SubOrchestrationCompleted':
        case 'SubOrchestrationFailed':
        case 'SubOrchestrationCancelRequested':
          open.delete(event.sourceEventId ?? 0);
          break;
        default:
      }
    },
    end() {
      if (!isCurrent) return;
      if (status === 'ContinuedAsNew' && !queued.hasContinueAsNew) {
        report('the execution continued as new, and no message starts the next one');
      }
      if (status !== 'Running') return;
      for (const [id, event] of open) {
        if (isUnderWay(view, executionId, id, event)) continue;
        if (event.kind === 'SubOrchestrationScheduled') {
          askChild({ instance, executionId, eventId: id, child: event.instance });
        } else {
          report(`${event.kind} has no outcome, and nothing that will bring one`, id);
        }
      }
      if (open.size === 0 && queued.total === 0 && work.size === 0 && !waits.isWaiting) {
        report('the execution is running, and neither a message, a decision nor an event can move it on');
      }
    },
  };
};

function isUnderWay({ queued, work }: InstanceView, executionId: number, id: number, event: HistoryEvent): boolean {
  switch (event.kind) {
    case 'ActivityScheduled':
      return work.has(`${executionId}:${id}`) || queued.outcomes.has(decisionKey('activity', executionId, id));
    case 'TimerCreated':
      return queued.outcomes.has(decisionKey('timer', executionId, id));
    default:
      return (
        queued.outcomes.has(decisionKey('child', executionId, id)) ||
        queued.outcomes.has(decisionKey('child', 'unknown', id))
      );
  }
}

/**
 * Whether somebody's event may move the execution on. Which of several waits an event
 * answers is left to the engine; here it is enough that there are more waits than events.
 */
class SignalWaits {
  private readonly missing = new Map<string, number>();
  private readonly names = new Map<number, string>();

  see(event: HistoryEvent): void {
    switch (event.kind) {
      case 'ExternalSubscribed':
      case 'ExternalSubscribedPersistent':
        this.names.set(event.eventId, `${event.kind}:${event.name}`);
        this.add(`${event.kind}:${event.name}`, 1);
        break;
      case 'ExternalEvent':
        this.answer(`ExternalSubscribed:${event.name}`);
        break;
      case 'ExternalEventPersistent':
        // A message that nobody waits for stays for the next one who does.
        this.add(`ExternalSubscribedPersistent:${event.name}`, -1);
        break;
      case 'ExternalSubscribedCancelled':
      case 'ExternalSubscribedPersistentCancelled': {
        const name = this.names.get(event.sourceEventId ?? 0);
        if (name !== undefined) this.answer(name);
        break;
      }
      default:
    }
  }

  get isWaiting(): boolean {
    return [...this.missing.values()].some((count) => count > 0);
  }

  /** An event that comes before anybody waits is lost (D-15). */
  private answer(name: string): void {
    if ((this.missing.get(name) ?? 0) > 0) this.add(name, -1);
  }

  private add(name: string, by: number): void {
    this.missing.set(name, (this.missing.get(name) ?? 0) + by);
  }
}

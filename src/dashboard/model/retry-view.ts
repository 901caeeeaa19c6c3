import { assertNever } from '../../base/assert-never.js';
import { findRetryPoint } from '../../provider/retry-point.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { RetryView } from '../views.js';

/** From where a failed instance would go on, in words; or why it cannot. */
export function retryView(history: readonly HistoryEvent[]): RetryView {
  const point = findRetryPoint(history);
  switch (point.kind) {
    case 'step': {
      const what = point.step.kind === 'ActivityScheduled' ? 'activity' : 'child orchestration';
      return { possible: true, toEventId: point.toEventId, step: `${what} ${point.step.name}` };
    }
    case 'turn':
      return { possible: true, toEventId: point.toEventId, step: 'the last turn of its own code' };
    case 'none':
      return { possible: false, reason: point.reason };
    default:
      return assertNever(point, 'retry point');
  }
}

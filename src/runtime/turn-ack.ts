import type { AckOrchestrationItem, DirectTurn, LockedOrchestrationItem } from '../provider/provider.js';
import type { WorkItem } from '../wire/work-item.js';
import type { TurnOutcome } from './replay/turn.js';

/** Commits what a turn decided, and `extraItems` with it; `direct` for one that was not fetched. */
export function turnAck(
  { instance, lockToken }: LockedOrchestrationItem,
  turn: TurnOutcome,
  extraItems: readonly WorkItem[] = [],
  direct?: DirectTurn,
): AckOrchestrationItem {
  return {
    instance,
    lockToken,
    executionId: turn.executionId,
    historyDelta: turn.historyDelta,
    workerItems: turn.workerItems,
    orchestratorItems: extraItems.length > 0 ? [...turn.orchestratorItems, ...extraItems] : turn.orchestratorItems,
    metadata: turn.metadata,
    cancelledActivities: turn.cancelledActivities,
    ...(direct && { direct }),
  };
}

/** Consumes the messages and changes nothing else. */
export function emptyAck({ instance, lockToken, executionId }: LockedOrchestrationItem): AckOrchestrationItem {
  return {
    instance,
    lockToken,
    executionId,
    historyDelta: [],
    workerItems: [],
    orchestratorItems: [],
    metadata: {},
    cancelledActivities: [],
  };
}

import { assertNever } from '../../base/assert-never.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { WorkItem } from '../../wire/work-item.js';

/** Called with each payload of a record, in a fixed order; answers with what takes its place. `what` is for errors. */
export type Visit = (text: string, what: string) => string;

/** The same work item with its payloads replaced. Error texts, names and ids are no payloads. */
export function mapWorkItem(item: WorkItem, visit: Visit): WorkItem {
  switch (item.kind) {
    case 'StartOrchestration':
      return { ...item, input: visit(item.input, `the input of orchestration '${item.orchestration}'`) };
    case 'ContinueAsNew': {
      const { orchestration, initialCustomStatus } = item;
      return {
        ...item,
        input: visit(item.input, `the input of orchestration '${orchestration}'`),
        carryForwardEvents: carried(item.carryForwardEvents, visit),
        ...(initialCustomStatus !== undefined && {
          initialCustomStatus: visit(initialCustomStatus, `the custom status of orchestration '${orchestration}'`),
        }),
      };
    }
    case 'ActivityExecute':
      return { ...item, input: visit(item.input, `the input of activity '${item.name}'`) };
    case 'ActivityCompleted':
      return { ...item, result: visit(item.result, `the result of activity ${item.id}`) };
    case 'SubOrchCompleted':
      return { ...item, result: visit(item.result, `the result of sub-orchestration ${item.parentId}`) };
    case 'ExternalRaised':
      return { ...item, data: visit(item.data, `the data of event '${item.name}'`) };
    case 'QueueMessage':
      return { ...item, data: visit(item.data, `the data of a message for queue '${item.name}'`) };
    case 'ActivityFailed':
    case 'SubOrchFailed':
    case 'TimerFired':
    case 'CancelInstance':
      return item;
    default:
      return assertNever(item, 'work item');
  }
}

/** The same event with its payloads replaced. */
export function mapEvent(event: HistoryEvent, visit: Visit): HistoryEvent {
  switch (event.kind) {
    case 'OrchestrationStarted': {
      const { carryForwardEvents, initialCustomStatus } = event;
      return {
        ...event,
        input: visit(event.input, `the input of orchestration '${event.name}'`),
        ...(carryForwardEvents && { carryForwardEvents: carried(carryForwardEvents, visit) }),
        ...(initialCustomStatus !== undefined && {
          initialCustomStatus: visit(initialCustomStatus, `the custom status of orchestration '${event.name}'`),
        }),
      };
    }
    case 'OrchestrationCompleted':
      return { ...event, output: visit(event.output, 'the output of the orchestration') };
    case 'OrchestrationContinuedAsNew':
      return { ...event, input: visit(event.input, 'the input of continue-as-new') };
    case 'ActivityScheduled':
      return { ...event, input: visit(event.input, `the input of activity '${event.name}'`) };
    case 'SubOrchestrationScheduled':
    case 'OrchestrationChained':
      return { ...event, input: visit(event.input, `the input of orchestration '${event.name}'`) };
    case 'ActivityCompleted':
      return { ...event, result: visit(event.result, `the result of activity ${event.sourceEventId ?? '?'}`) };
    case 'SubOrchestrationCompleted':
      return { ...event, result: visit(event.result, `the result of sub-orchestration ${event.sourceEventId ?? '?'}`) };
    case 'ExternalEvent':
      return { ...event, data: visit(event.data, `the data of event '${event.name}'`) };
    case 'ExternalEventPersistent':
      return { ...event, data: visit(event.data, `the data of a message for queue '${event.name}'`) };
    case 'KeyValueSet':
      return { ...event, value: visit(event.value, `the value of key '${event.key}'`) };
    case 'CustomStatusUpdated':
      return event.status === null ? event : { ...event, status: visit(event.status, 'the custom status') };
    case 'OrchestrationFailed':
    case 'ActivityFailed':
    case 'SubOrchestrationFailed':
    case 'TimerCreated':
    case 'TimerFired':
    case 'ExternalSubscribed':
    case 'ExternalSubscribedPersistent':
    case 'ExternalSubscribedCancelled':
    case 'ExternalSubscribedPersistentCancelled':
    case 'OrchestrationCancelRequested':
    case 'ActivityCancelRequested':
    case 'SubOrchestrationCancelRequested':
    case 'KeyValueCleared':
    case 'KeyValuesCleared':
      return event;
    default:
      return assertNever(event, 'event');
  }
}

function carried(
  messages: readonly (readonly [string, string])[],
  visit: Visit,
): readonly (readonly [string, string])[] {
  return messages.map(([name, data]) => [name, visit(data, `the data of a message for queue '${name}'`)] as const);
}

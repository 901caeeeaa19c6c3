import type { WorkItem } from '../wire/work-item.js';
import { instanceId, nameArgument, newInstanceId, payloadArgument, stringArgument, textArgument } from './arguments.js';

/** A start of a new instance. @throws ArgumentError, InvalidInputError, TypeError */
export function startMessage(
  params: { readonly instance: unknown; readonly name: unknown; readonly input: unknown; readonly version: unknown },
  maxPayloadBytes: number,
): WorkItem & { kind: 'StartOrchestration' } {
  const orchestration = nameArgument('orchestration name', params.name);
  const instance = newInstanceId(params.instance);
  return {
    kind: 'StartOrchestration',
    instance,
    orchestration,
    input: payloadArgument(`the input of orchestration '${orchestration}'`, params.input, maxPayloadBytes, instance),
    // Not checked: a version that nobody can have waits like an unregistered one.
    version: params.version === null ? null : stringArgument('version', params.version),
    parentInstance: null,
    parentId: null,
    executionId: 1,
  };
}

/** An event or a queue message for an instance. @throws ArgumentError, InvalidInputError, TypeError */
export function signalMessage(
  kind: 'ExternalRaised' | 'QueueMessage',
  params: { readonly instance: unknown; readonly name: unknown; readonly data: unknown },
  maxPayloadBytes: number,
): WorkItem {
  const what = kind === 'ExternalRaised' ? 'event' : 'queue';
  const name = nameArgument(`${what} name`, params.name);
  const instance = instanceId(params.instance);
  return {
    kind,
    instance,
    name,
    data: payloadArgument(`the data for ${what} '${name}'`, params.data, maxPayloadBytes, instance),
  };
}

/** @throws ArgumentError, InvalidInputError */
export function cancelMessage(
  params: { readonly instance: unknown; readonly reason: unknown },
  maxPayloadBytes: number,
): WorkItem {
  return {
    kind: 'CancelInstance',
    instance: instanceId(params.instance),
    reason: textArgument('the reason of a cancellation', stringArgument('reason', params.reason), maxPayloadBytes),
  };
}

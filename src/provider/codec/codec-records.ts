import type { AckOrchestrationItem, ItemHistory, KvSnapshot, LockedOrchestrationItem } from '../provider.js';
import { decodeEvent, encodeEvent, type HistoryEvent } from '../../wire/event.js';
import type { MapRecord } from './coder.js';
import { mapEvent, mapWorkItem, type Visit } from './map-payloads.js';

/** How the payloads of composed records are replaced; see `mapWorkItem`. */
export const mapEvents: MapRecord<readonly HistoryEvent[]> = (events, visit) =>
  events.map((event) => mapEvent(event, visit));

/**
 * All but the messages for orchestrations: those may be for other instances, which decode them as their own.
 * A failed execution's output is the text of its failure, which is no payload.
 */
export const mapAck: MapRecord<AckOrchestrationItem> = (turn, visit) => ({
  ...turn,
  historyDelta: mapEvents(turn.historyDelta, visit),
  workerItems: turn.workerItems.map((item) => mapWorkItem(item, visit)),
  metadata:
    turn.metadata.output === undefined || turn.metadata.status === 'Failed'
      ? turn.metadata
      : { ...turn.metadata, output: visit(turn.metadata.output, endOf(turn.metadata.status)) },
});

/** As `mapEvent` names it in the event of the same end: the row and the event hold one text. */
function endOf(status: AckOrchestrationItem['metadata']['status']): string {
  return status === 'ContinuedAsNew' ? 'the input of continue-as-new' : 'the output of the orchestration';
}

export const mapKvSnapshot = (snapshot: KvSnapshot, visit: Visit): KvSnapshot =>
  new Map(
    [...snapshot].map(([key, entry]) => [key, { ...entry, value: visit(entry.value, `the value of key '${key}'`) }]),
  );

export const mapLockedItem: MapRecord<LockedOrchestrationItem> = (item, visit) => ({
  ...item,
  history: mapHistory(item.history, visit),
  messages: item.messages.map((message) => mapWorkItem(message, visit)),
  ...(item.kvSnapshot && { kvSnapshot: mapKvSnapshot(item.kvSnapshot, visit) }),
});

function mapHistory(history: ItemHistory, visit: Visit): ItemHistory {
  const events = mapEvents(history.events, visit);
  if (history.kind === 'full') return { kind: 'full', events };
  return { kind: 'tail', heldText: mapHeldText(history.heldText, visit), events };
}

/** The runtime compares this text with its own of the same event, which has the payloads as they were. */
function mapHeldText(text: string | null, visit: Visit): string | null {
  return text === null ? null : encodeEvent(mapEvent(decodeEvent(text), visit));
}

/** As {@link mapLockedItem}, for the values of a store. */
export const mapValues: MapRecord<ReadonlyMap<string, string>> = (values, visit) =>
  new Map([...values].map(([key, value]) => [key, visit(value, `the value of key '${key}'`)]));

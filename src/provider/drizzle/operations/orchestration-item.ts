import { decodeEvent, type HistoryEvent } from '../../../wire/event.js';
import type { WorkItem } from '../../../wire/work-item.js';
import { WireError } from '../../../wire/wire-error.js';
import type { HeldInstance, ItemHistory, LockedOrchestrationItem } from '../../provider.js';
import type { ReadableMessage } from './decode-messages.js';
import type { StoredEvent, StoredInstance } from './load-instances.js';

/** What stands where neither a row nor a message names an orchestration. */
export const UNKNOWN_NAME = 'Unknown';
const UNKNOWN_VERSION = 'unknown';

export interface ItemParts {
  readonly instance: string;
  readonly lockToken: string;
  /** At least one. */
  readonly messages: readonly ReadableMessage[];
  readonly stored: StoredInstance;
  readonly held: HeldInstance | undefined;
}

/** Puts together what the fetch of one instance answers (provider.md 3.1.2, steps 6 to 8). */
export function orchestrationItem({
  instance,
  lockToken,
  messages,
  stored,
  held,
}: ItemParts): LockedOrchestrationItem {
  const items = messages.map(({ item }) => item);
  const { name, version, executionId } = identityOf(stored, items[0]);
  const { history, historyError } = historyOf(stored, held);
  return {
    instance,
    orchestrationName: name,
    executionId,
    version,
    lockToken,
    attemptCount: Math.max(1, ...messages.map(({ attemptCount }) => attemptCount)),
    history,
    messages: items,
    ...(historyError === undefined ? {} : { historyError }),
    ...(history.kind === 'full' ? { kvSnapshot: stored.kv } : {}),
  };
}

interface Identity {
  readonly name: string;
  readonly version: string;
  readonly executionId: number;
}

/** Without a row the first message alone is asked (P:T-26). */
function identityOf({ row }: StoredInstance, first: WorkItem | undefined): Identity {
  if (row) return { name: row.name, version: row.version ?? UNKNOWN_VERSION, executionId: row.executionId };
  if (first?.kind === 'StartOrchestration') {
    return {
      name: first.orchestration,
      version: first.version ?? UNKNOWN_VERSION,
      executionId: first.executionId,
    };
  }
  if (first?.kind === 'ContinueAsNew') {
    return { name: first.orchestration, version: first.version ?? UNKNOWN_VERSION, executionId: 1 };
  }
  return { name: UNKNOWN_NAME, version: UNKNOWN_VERSION, executionId: 1 };
}

interface DecodedHistory {
  readonly history: ItemHistory;
  readonly historyError?: string;
}

function historyOf(stored: StoredInstance, held: HeldInstance | undefined): DecodedHistory {
  if (held === undefined || stored.row?.executionId !== held.executionId) {
    const { events, historyError } = decodeHistory(stored.events);
    return { history: { kind: 'full', events }, ...(historyError === undefined ? {} : { historyError }) };
  }
  // The held event itself is compared as text by the caller, never parsed.
  const [first, ...others] = stored.events;
  const hasHeldEvent = first?.eventId === held.lastEventId;
  const { events, historyError } = decodeHistory(hasHeldEvent ? others : stored.events);
  const history: ItemHistory = { kind: 'tail', heldText: hasHeldEvent ? first.text : null, events };
  return { history, ...(historyError === undefined ? {} : { historyError }) };
}

/** All or nothing: a history with a gap would replay into another life. */
export function decodeHistory(stored: readonly StoredEvent[]): { events: HistoryEvent[]; historyError?: string } {
  try {
    return { events: stored.map(({ text }) => decodeEvent(text)) };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { events: [], historyError: `Failed to deserialize history: ${error.message}` };
  }
}

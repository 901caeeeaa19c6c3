import { decodeWorkItem, type WorkItem } from '../../../wire/work-item.js';
import { WireError } from '../../../wire/wire-error.js';

/** A stored work item of a queue, with what its row says about it. */
export interface StoredMessage {
  readonly rowId: number;
  readonly text: string;
  readonly attemptCount: number;
}

export interface ReadableMessage {
  readonly rowId: number;
  readonly attemptCount: number;
  readonly item: WorkItem;
}

export interface UnreadableMessage {
  readonly rowId: number;
  readonly attemptCount: number;
  /** What is wrong with it; never its content. */
  readonly reason: string;
}

/** Parses what a fetch took, here and not in SQL: one bad row must not fail the statement (P:T-3). */
export function decodeMessages(messages: readonly StoredMessage[]): {
  readonly readable: readonly ReadableMessage[];
  readonly unreadable: readonly UnreadableMessage[];
} {
  const readable: ReadableMessage[] = [];
  const unreadable: UnreadableMessage[] = [];
  for (const { rowId, attemptCount, text } of messages) {
    try {
      readable.push({ rowId, attemptCount, item: decodeWorkItem(text) });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      unreadable.push({ rowId, attemptCount, reason: error.message });
    }
  }
  return { readable, unreadable };
}

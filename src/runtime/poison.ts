import type { LockedWorkItem } from '../provider/provider.js';
import type { WorkItem, WorkItemOf } from '../wire/work-item.js';
import { encodeWorkItem } from '../wire/work-item.js';
import type { RuntimeCore } from './core.js';
import { startRecord } from './replay/batch.js';
import { endUnreadable, endWithFailure, poisonedBatch, poisonedHistory } from './replay/poison.js';
import type { StartRecord, TurnOutcome } from './replay/turn.js';
import type { ColdItem } from './turn-plan.js';

/** Version of an execution that never started. */
const UNKNOWN_VERSION = 'unknown';

/** Ends an instance whose messages were fetched too often (runtime.md 1.9). */
export function poisonInstance(core: RuntimeCore, loaded: ColdItem): TurnOutcome {
  const { item, history, historyError } = loaded;
  const facts = {
    instance: item.instance,
    executionId: item.executionId,
    attemptCount: item.attemptCount,
    maxAttempts: core.options.maxAttempts,
  };
  const ended = { instance: item.instance, executionId: item.executionId, now: () => core.provider.nowMs() };
  if (historyError !== undefined) {
    return endUnreadable({ ...ended, details: poisonedHistory({ ...facts, error: historyError }) });
  }
  const details = poisonedBatch({ ...facts, messages: item.messages });
  return endWithFailure({ ...ended, history, start: startOf(loaded), details });
}

function startOf({ item, batch: { start } }: ColdItem): StartRecord {
  const version = item.version || UNKNOWN_VERSION;
  return start ? startRecord(start, version) : { name: item.orchestrationName, version, input: '' };
}

/** The outcome of an activity whose row was fetched too often. */
export function poisonActivity(
  core: RuntimeCore,
  { attemptCount }: LockedWorkItem,
  item: WorkItemOf<'ActivityExecute'>,
): WorkItem {
  const { instance, executionId, id, name } = item;
  return {
    kind: 'ActivityFailed',
    instance,
    executionId,
    id,
    details: {
      kind: 'Poison',
      attemptCount,
      maxAttempts: core.options.maxAttempts,
      messageType: { kind: 'Activity', instance, executionId, activityName: name, activityId: id },
      message: encodeWorkItem(item),
    },
  };
}

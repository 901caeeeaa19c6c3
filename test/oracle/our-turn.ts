import { silentLogger } from '../../src/base/logger.js';
import type { AckOrchestrationItem, LockedOrchestrationItem, Provider } from '../../src/provider/provider.js';
import { makeCore, type RuntimeCore } from '../../src/runtime/core.js';
import type { ActivityHandler } from '../../src/runtime/activity-handler.js';
import { AsyncHost } from '../../src/runtime/async/async-host.js';
import { generatorOrchestration } from '../../src/runtime/generator/generator-driver.js';
import { resolveRuntimeOptions } from '../../src/runtime/options.js';
import { type Registrable, REGISTRATION } from '../../src/runtime/registrable.js';
import { ActivityRegistry, OrchestrationRegistry } from '../../src/runtime/registry.js';
import { readBatch } from '../../src/runtime/replay/batch.js';
import type { CreateDriver } from '../../src/runtime/replay/driver.js';
import { turnAck } from '../../src/runtime/turn-ack.js';
import { planTurn } from '../../src/runtime/turn-plan.js';
import { TurnRunner } from '../../src/runtime/turn-runner.js';
import { decodeEvent, encodeEvent, type HistoryEvent } from '../../src/wire/event.js';
import { encodeWorkItem, type WorkItem, workItemFromJson } from '../../src/wire/work-item.js';
import type { Registration } from './scenarios/scenario.js';
import type { RecordedTurn } from './turn-recorder.js';

/** A turn as an engine decided it, in the terms of the tables. */
export interface DecidedTurn {
  readonly events: readonly string[];
  readonly workerItems: readonly unknown[];
  readonly orchestratorItems: readonly unknown[];
  readonly removedActivities: readonly number[];
  readonly status: string | null;
  readonly output: string | null;
}

/** What our runtime decides from stored history and the messages that a recorded turn consumed. */
export async function ourTurn(
  registrations: readonly (Registration | Registrable)[],
  recorded: RecordedTurn,
  historyBefore: readonly string[],
): Promise<DecidedTurn> {
  const nowMs = timestampOf(recorded);
  const core = coreOf(registrations, nowMs);
  const item = lockedItem(recorded, historyBefore);
  const batch = readBatch(item.messages);
  const { history, historyError, kvSnapshot } = item;
  if (history.kind !== 'full') throw new Error('recorded turns have full histories');
  const loaded = { kind: 'cold', item, batch, history: history.events, historyError, kvSnapshot } as const;
  const plan = planTurn(core, loaded);
  switch (plan.kind) {
    case 'abandon':
    case 'hold':
      throw new Error(`${item.instance} was put off: ${plan.reason}`);
    case 'settle':
      return toDecided(plan.ack);
    case 'warm':
      throw new Error('nothing is warm here');
    case 'cold': {
      const { turn } = await new TurnRunner(core).run(item, plan, batch.messages);
      return toDecided(turnAck(item, turn, plan.extraItems));
    }
  }
}

function coreOf(registrations: readonly (Registration | Registrable)[], nowMs: number): RuntimeCore {
  const orchestrations = new OrchestrationRegistry<CreateDriver>();
  const host = new AsyncHost();
  for (const registration of registrations) {
    if (REGISTRATION in registration) {
      const typed = registration[REGISTRATION]({ host, logger: silentLogger });
      if (typed.kind === 'orchestration')
        orchestrations.registerDefinition(typed.name, typed.version, typed.createDriver);
      continue;
    }
    const { name, version, fn } = registration;
    const driver = generatorOrchestration(fn, { writeTrace: () => undefined });
    if (version === undefined) orchestrations.register(name, driver);
    else orchestrations.registerVersioned(name, version, driver);
  }
  return makeCore({
    provider: { nowMs: () => nowMs } as unknown as Provider,
    options: resolveRuntimeOptions({ logger: silentLogger }),
    orchestrations,
    activities: new ActivityRegistry<ActivityHandler>(),
    host,
    stopping: new AbortController().signal,
  });
}

/** Native reads its clock several times in a turn; the first new event is as good as any. */
function timestampOf({ events }: RecordedTurn): number {
  const last = events.at(-1);
  return last === undefined ? 0 : (JSON.parse(last) as { timestamp_ms: number }).timestamp_ms;
}

function lockedItem(recorded: RecordedTurn, historyBefore: readonly string[]): LockedOrchestrationItem {
  const messages = recorded.messages.map(workItemFromJson);
  const { events, executionId, historyError } = storedHistory(recorded, historyBefore);
  const start = messages.find((message) => message.kind === 'StartOrchestration' || message.kind === 'ContinueAsNew');
  return {
    instance: recorded.instance,
    orchestrationName: start?.orchestration ?? 'Unknown',
    executionId,
    version: start?.version ?? 'unknown',
    lockToken: 'lock_recorded',
    attemptCount: recorded.attemptCount,
    messages,
    history: { kind: 'full', events },
    historyError,
    kvSnapshot: new Map(recorded.kvSnapshot.map(([key, value, lastUpdatedAtMs]) => [key, { value, lastUpdatedAtMs }])),
  };
}

function storedHistory({ executionId }: RecordedTurn, texts: readonly string[]) {
  const events: HistoryEvent[] = [];
  try {
    for (const text of texts) events.push(decodeEvent(text));
  } catch (error) {
    return { events: [], executionId, historyError: `Failed to deserialize history: ${String(error)}` };
  }
  // The turn of a continue-as-new item is loaded with the execution before.
  return { events, executionId: events[0]?.executionId ?? executionId, historyError: undefined };
}

function toDecided(ack: AckOrchestrationItem): DecidedTurn {
  return {
    events: ack.historyDelta.map(encodeEvent),
    workerItems: ack.workerItems.map(asJson),
    orchestratorItems: ack.orchestratorItems.map(asJson),
    removedActivities: ack.cancelledActivities.map(({ activityId }) => activityId),
    status: ack.metadata.status ?? null,
    output: ack.metadata.output ?? null,
  };
}

function asJson(item: WorkItem): unknown {
  return JSON.parse(encodeWorkItem(item));
}

/** A recorded turn in the same terms. */
export function decidedByNative(recorded: RecordedTurn): DecidedTurn {
  const row = recorded.executionRow;
  const status = row === null || row['status'] === 'Running' ? null : String(row['status']);
  return {
    events: recorded.events,
    workerItems: recorded.workerItems.map(({ item }) => item),
    orchestratorItems: recorded.orchestratorItems.map(({ item }) => item),
    removedActivities: recorded.removedActivities.map(({ activityId }) => activityId),
    status,
    output: status === null ? null : String(row?.['output']),
  };
}

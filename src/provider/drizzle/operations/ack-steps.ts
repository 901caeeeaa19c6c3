import { toStorable } from '../../../base/text.js';
import type { Ms } from '../../provider.js';
import type { ProviderContext } from '../context.js';
import type { SqlValues } from '../executor.js';
import {
  clearAllKv,
  consume,
  insertHistory,
  insertLockedWorkerItems,
  insertOrchestratorItems,
  insertWorkerItems,
  mergeKv,
  upsertExecutions,
  upsertInstances,
  upsertInstancesOfEnds,
  type EndedInstance,
  upsertKvDelta,
} from './ack-statements.js';
import { isDirect } from './direct-turns.js';
import { endStates, hasEnded, type TellEnded, type TellingEnds } from './end-states.js';
import { moment } from './moment.js';
import type { PreparedTurn } from './prepared-turn.js';
import { lockedWorkerRows, orchestratorRows, workerRows } from './queue-rows.js';
import type { Step } from './run-together.js';

/**
 * What is to be written for turns whose locks this transaction holds, in the order of
 * provider.md 3.1.3; only the statements that have rows.
 */
export function ackSteps(
  ctx: ProviderContext,
  turns: readonly PreparedTurn[],
  nowMs: Ms,
  { ended, notice }: TellingEnds = {},
): Step[] {
  const orchestrator = turns.flatMap((turn) => turn.orchestratorRows);
  return [
    instanceStep(ctx, turns, nowMs, ended),
    { statement: upsertExecutions(ctx), values: executionValues(turns, nowMs) },
    ...(turns.some(({ events }) => events.length > 0)
      ? [{ statement: insertHistory(ctx), values: historyValues(turns, nowMs) }]
      : []),
    ...kvSteps(ctx, turns, nowMs),
    ...workerSteps(ctx, turns, nowMs),
    ...(orchestrator.length > 0
      ? [{ statement: insertOrchestratorItems(ctx), values: orchestratorRows(orchestrator, nowMs) }]
      : []),
    ...consumeSteps(ctx, turns),
    ...(notice && turns.some(({ turn }) => hasEnded(turn)) ? [notice.step()] : []),
  ];
}

function instanceStep(
  ctx: ProviderContext,
  turns: readonly PreparedTurn[],
  nowMs: Ms,
  ended?: TellEnded,
): Step {
  const values = instanceValues(turns, nowMs);
  const ending = ended ? turns.filter(({ turn }) => hasEnded(turn)) : [];
  if (!ended || ending.length === 0) return { statement: upsertInstances(ctx), values };
  const step: Step<EndedInstance> = {
    statement: upsertInstancesOfEnds(ctx),
    values: { ...values, ended: ending.map(({ turn }) => turn.instance) },
    received: (rows) => ended(endStates(ending, rows)),
  };
  return step;
}

function instanceValues(turns: readonly PreparedTurn[], nowMs: Ms): SqlValues {
  // A name alone, or a version alone, says nothing (provider.md 3.1.3, step 2).
  const named = turns.map(({ turn: { metadata } }) =>
    metadata.orchestrationName !== undefined && metadata.orchestrationVersion !== undefined ? metadata : undefined,
  );
  return {
    nowAt: moment(nowMs),
    instances: turns.map(({ turn }) => turn.instance),
    executions: turns.map(({ turn }) => turn.executionId),
    names: named.map((metadata) => storable(metadata?.orchestrationName)),
    versions: named.map((metadata) => storable(metadata?.orchestrationVersion)),
    parents: named.map((metadata) => storable(metadata?.parentInstanceId)),
    setsStatus: turns.map(({ customStatus }) => customStatus !== undefined),
    customStatuses: turns.map(({ customStatus }) => customStatus ?? null),
  };
}

function executionValues(turns: readonly PreparedTurn[], nowMs: Ms): SqlValues {
  const metadata = turns.map(({ turn }) => turn.metadata);
  return {
    nowAt: moment(nowMs),
    instances: turns.map(({ turn }) => turn.instance),
    executions: turns.map(({ turn }) => turn.executionId),
    statuses: metadata.map(({ status }) => status ?? null),
    outputs: metadata.map(({ output }) => storable(output)),
    majors: metadata.map(({ pinnedDuroxideVersion }) => pinnedDuroxideVersion?.major ?? null),
    minors: metadata.map(({ pinnedDuroxideVersion }) => pinnedDuroxideVersion?.minor ?? null),
    patches: metadata.map(({ pinnedDuroxideVersion }) => pinnedDuroxideVersion?.patch ?? null),
    isLate: turns.map(
      ({ events, turn: { metadata } }) =>
        events.length === 0 && metadata.status === undefined && metadata.orchestrationName === undefined,
    ),
  };
}

function historyValues(turns: readonly PreparedTurn[], nowMs: Ms): SqlValues {
  const events = turns.flatMap(({ turn, events }) => events.map((event) => ({ ...event, turn })));
  return {
    nowAt: moment(nowMs),
    eventInstances: events.map(({ turn }) => turn.instance),
    eventExecutions: events.map(({ turn }) => turn.executionId),
    eventIds: events.map(({ eventId }) => eventId),
    eventTexts: events.map(({ text }) => text),
  };
}

function kvSteps(ctx: ProviderContext, turns: readonly PreparedTurn[], nowMs: Ms): Step[] {
  const steps: Step[] = [];
  const cleared = turns.filter(({ kv }) => kv.clearsAll).map(({ turn }) => turn.instance);
  if (cleared.length > 0) steps.push({ statement: clearAllKv(ctx), values: { cleared, nowMs } });
  const changes = turns.flatMap(({ turn, kv }) =>
    Array.from(kv.changes, ([key, change]) => ({ instance: turn.instance, key, ...change })),
  );
  if (changes.length > 0) {
    const values = {
      kvInstances: changes.map(({ instance }) => instance),
      kvKeys: changes.map(({ key }) => key),
      kvValues: changes.map(({ value }) => value),
      kvAtMs: changes.map(({ atMs }) => atMs ?? nowMs),
    };
    steps.push({ statement: upsertKvDelta(ctx), values });
  }
  const finished = turns.filter(({ turn: { metadata } }) => isFinal(metadata.status));
  if (finished.length > 0) {
    const values = {
      finished: finished.map(({ turn }) => turn.instance),
      finishedExecutions: finished.map(({ turn }) => turn.executionId),
    };
    steps.push({ statement: mergeKv(ctx), values });
  }
  return steps;
}

function workerSteps(ctx: ProviderContext, turns: readonly PreparedTurn[], nowMs: Ms): Step[] {
  const rows = turns.flatMap((turn) => turn.workerRows);
  if (rows.length === 0) return [];
  // One process has one lock time, whatever the number of its turns.
  const lockTimeoutMs = turns.find(({ turn }) => turn.workerLocks)?.turn.workerLocks?.lockTimeoutMs;
  if (lockTimeoutMs === undefined) return [{ statement: insertWorkerItems(ctx), values: workerRows(rows, nowMs) }];
  return [{ statement: insertLockedWorkerItems(ctx), values: lockedWorkerRows(rows, nowMs, lockTimeoutMs) }];
}

function isFinal(status: string | undefined): boolean {
  return status === 'Completed' || status === 'Failed' || status === 'ContinuedAsNew';
}

/** Nothing is locked for direct turns, whose activities are gone already. */
function consumeSteps(ctx: ProviderContext, turns: readonly PreparedTurn[]): Step[] {
  const cancelled = turns.flatMap((turn) => turn.cancelled);
  const cancels = cancelled.length > 0;
  const fetched = turns.filter(({ turn }) => !isDirect(turn));
  if (fetched.length === 0 && !cancels) return [];
  const step = {
    statement: consume(ctx, { cancels }),
    values: {
      instances: fetched.map(({ turn }) => turn.instance),
      lockTokens: fetched.map(({ turn }) => turn.lockToken),
      ...(cancels
        ? {
            cancelledInstances: cancelled.map(({ instance }) => instance),
            cancelledExecutions: cancelled.map(({ executionId }) => executionId),
            cancelledActivities: cancelled.map(({ activityId }) => activityId),
          }
        : {}),
    },
  };
  return [step];
}

function storable(text: string | undefined): string | null {
  return text === undefined ? null : toStorable(text);
}

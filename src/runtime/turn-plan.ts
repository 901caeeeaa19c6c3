import type { AckOrchestrationItem, LockedOrchestrationItem } from '../provider/provider.js';
import { compareSemVer, parseSemVer } from '../wire/compat-version.js';
import type { ErrorDetails } from '../wire/error-details.js';
import type { EventOf, HistoryEvent } from '../wire/event.js';
import type { WorkItem } from '../wire/work-item.js';
import type { RuntimeCore } from './core.js';
import { unregisteredDelayMs } from './fetch-errors.js';
import { poisonInstance } from './poison.js';
import type { MessageBatch, StartItem } from './replay/batch.js';
import { parentOf, parentOfStarted, startRecord } from './replay/batch.js';
import type { CreateDriver } from './replay/driver.js';
import type { KvSeed, ParentLink, StartRecord, TurnOutcome } from './replay/turn.js';
import { nondeterminism, orchestrationFailed } from './replay/failures.js';
import { endWithFailure } from './replay/poison.js';
import type { Resolved } from './registry.js';
import { emptyAck, turnAck } from './turn-ack.js';
import type { WarmEntry } from './warm-cache.js';

/** Pause before an item that this runtime cannot run is looked at again. */
const UNREADABLE_DELAY_MS = 1_000;
const NO_START = 'corrupted history: first event must be OrchestrationStarted';
/** How long an instance between two executions is held, by its attempts. In ms. */
const HOLDS_MS = [25, 100];
/** Versions in histories that stand for none. */
const NO_VERSION = new Set(['0.0.0', 'unknown', '']);

/** A fetched item with its history, or with the live execution that makes it unnecessary. */
export type LoadedItem = ColdItem | WarmItem;

export interface WarmItem {
  readonly kind: 'warm';
  readonly item: LockedOrchestrationItem;
  readonly batch: MessageBatch;
  readonly entry: WarmEntry;
}

export interface ColdItem {
  readonly kind: 'cold';
  readonly item: LockedOrchestrationItem;
  readonly batch: MessageBatch;
  readonly history: readonly HistoryEvent[];
  /** Set when it cannot be read; it is empty then. */
  readonly historyError?: string | undefined;
  readonly kvSnapshot?: KvSeed | undefined;
}

/** What becomes of a fetched item (runtime.md 1.4). */
export type TurnPlan =
  /** Given back with a delay, the attempt counted. */
  | { readonly kind: 'abandon'; readonly delayMs: number; readonly reason: string }
  /** Kept locked for so long, in ms, then given back as it came: nothing of the instance overtakes it. */
  | { readonly kind: 'hold'; readonly holdMs: number; readonly reason: string }
  /** Settled without running code. */
  | { readonly kind: 'settle'; readonly ack: AckOrchestrationItem; readonly failure?: ErrorDetails | undefined }
  | { readonly kind: 'warm'; readonly entry: WarmEntry; readonly extraItems: readonly WorkItem[] }
  | ColdPlan;

/** A turn that may run code of users. */
export type RunnablePlan = Extract<TurnPlan, { kind: 'warm' | 'cold' }>;

export interface ColdPlan {
  readonly kind: 'cold';
  readonly executionId: number;
  /** Empty for a new execution, which has a `start`. */
  readonly history: readonly HistoryEvent[];
  readonly start: StartRecord | undefined;
  readonly kvSnapshot: KvSeed | undefined;
  readonly name: string;
  readonly handler: Resolved<CreateDriver>;
  readonly parent: ParentLink | undefined;
  /** Failures for those whose start of this id came too late. */
  readonly extraItems: readonly WorkItem[];
}

/** Decides what to do with an item; runs no code of users and does no I/O. */
export function planTurn(core: RuntimeCore, loaded: LoadedItem): TurnPlan {
  const { item, batch } = loaded;
  if (loaded.kind === 'warm') {
    const extraItems = answersToLateStarts(item.instance, batch, loaded.entry.parent, 'running');
    return { kind: 'warm', entry: loaded.entry, extraItems };
  }
  const { history } = loaded;
  const outside = versionOutside(core, history);
  if (outside !== undefined) {
    return {
      kind: 'abandon',
      delayMs: UNREADABLE_DELAY_MS,
      reason: `duroxide ${outside} is not supported by this runtime`,
    };
  }
  const ended = lastTerminal(history);
  const overAttempts = item.attemptCount > core.options.maxAttempts;
  if (ended?.kind === 'OrchestrationContinuedAsNew' && batch.start?.kind !== 'ContinueAsNew') {
    return betweenExecutions(core, item, overAttempts);
  }
  if (overAttempts) return giveUp(item, poisonInstance(core, loaded));
  if (loaded.historyError !== undefined) {
    return { kind: 'abandon', delayMs: UNREADABLE_DELAY_MS, reason: `unreadable history: ${loaded.historyError}` };
  }
  if (ended && ended.kind !== 'OrchestrationContinuedAsNew') {
    const started = startedOf(history);
    const items = answersToLateStarts(item.instance, batch, started && parentOfStarted(started), 'terminal');
    return { kind: 'settle', ack: { ...emptyAck(item), orchestratorItems: items } };
  }
  return planRun(core, loaded);
}

function planRun(core: RuntimeCore, { item, batch, history: stored, kvSnapshot }: ColdItem): TurnPlan {
  const continues = batch.start?.kind === 'ContinueAsNew' ? batch.start : undefined;
  const history = continues ? [] : stored;
  const started = startedOf(history);
  if (started) {
    const handler = resolveHandler(core, started.name, started.version);
    if (!handler) return unregistered(core, item, started.name, started.version);
    const parent = parentOfStarted(started);
    return {
      kind: 'cold',
      executionId: item.executionId,
      history,
      start: undefined,
      kvSnapshot,
      name: started.name,
      handler,
      parent,
      extraItems: answersToLateStarts(item.instance, batch, parent, 'running'),
    };
  }
  // Damaged: the engine says so, and fails the instance.
  const start = batch.start;
  if (!start) {
    if (history.length === 0) return { kind: 'settle', ack: emptyAck(item) };
    const { instance, executionId } = item;
    const now = () => core.provider.nowMs();
    return giveUp(item, endWithFailure({ instance, executionId, history, details: nondeterminism(NO_START), now }));
  }
  const handler = resolveHandler(core, start.orchestration, start.version ?? '');
  if (!handler) return unregistered(core, item, start.orchestration, start.version ?? '');
  const parent = parentOf(start);
  return {
    kind: 'cold',
    executionId: continues ? item.executionId + 1 : item.executionId,
    history: [],
    start: startRecord(start, handler.version),
    kvSnapshot,
    name: start.orchestration,
    handler,
    parent,
    extraItems: answersToLateStarts(item.instance, { ...batch, start: undefined }, parent, 'running'),
  };
}

function giveUp(item: LockedOrchestrationItem, turn: TurnOutcome): TurnPlan {
  const failure = turn.result.kind === 'failed' ? turn.result.details : undefined;
  return { kind: 'settle', ack: turnAck(item, turn), failure };
}

/**
 * The batch came without the continue-as-new item: the messages wait for it instead of
 * being lost (D-08). They never turn into poison.
 *
 * At first they wait under the lock. By the clock of another process the item may be due a
 * few milliseconds from now; put off, they would come after what is sent in the meantime.
 */
function betweenExecutions(core: RuntimeCore, item: LockedOrchestrationItem, overAttempts: boolean): TurnPlan {
  if (overAttempts) return { kind: 'settle', ack: emptyAck(item) };
  const reason = 'the next execution has not begun';
  const holdMs = HOLDS_MS[item.attemptCount - 1];
  if (holdMs !== undefined) return { kind: 'hold', holdMs, reason };
  const { unregisteredBaseDelayMs, unregisteredMaxDelayMs } = core.options;
  const attempt = item.attemptCount - HOLDS_MS.length;
  return {
    kind: 'abandon',
    delayMs: unregisteredDelayMs(attempt, unregisteredBaseDelayMs, unregisteredMaxDelayMs),
    reason,
  };
}

function unregistered(core: RuntimeCore, item: LockedOrchestrationItem, name: string, version: string): TurnPlan {
  const { unregisteredBaseDelayMs, unregisteredMaxDelayMs } = core.options;
  const shown = NO_VERSION.has(version) ? '' : `@${version}`;
  return {
    kind: 'abandon',
    delayMs: unregisteredDelayMs(item.attemptCount, unregisteredBaseDelayMs, unregisteredMaxDelayMs),
    reason: `orchestration '${name}'${shown} is not registered in this runtime`,
  };
}

function resolveHandler(core: RuntimeCore, name: string, version: string): Resolved<CreateDriver> | undefined {
  return NO_VERSION.has(version) ? core.orchestrations.resolve(name) : core.orchestrations.resolveExact(name, version);
}

/** The level that wrote the execution, if this runtime must not run it. */
function versionOutside(core: RuntimeCore, history: readonly HistoryEvent[]): string | undefined {
  const written = history.find(({ kind }) => kind === 'OrchestrationStarted')?.duroxideVersion;
  const version = written === undefined ? undefined : parseSemVer(written);
  if (!version) return undefined;
  const { min, max } = core.options.supportedReplayVersions;
  return compareSemVer(version, min) < 0 || compareSemVer(version, max) > 0 ? written : undefined;
}

/** Whoever tried to start this id with another parent learns that it is taken (runtime.md 1.4, D-02). */
function answersToLateStarts(
  instance: string,
  batch: Pick<MessageBatch, 'start' | 'otherStarts'>,
  parent: ParentLink | undefined,
  state: 'running' | 'terminal',
): WorkItem[] {
  const late = batch.start ? [batch.start, ...batch.otherStarts] : batch.otherStarts;
  const suffix = state === 'terminal' ? ' and is terminal' : '';
  return late.flatMap((start) => {
    const other = otherParent(start, parent);
    return other ? [childExists(other, `sub-orchestration instance id '${instance}' already exists${suffix}`)] : [];
  });
}

function otherParent(start: StartItem, parent: ParentLink | undefined): ParentLink | undefined {
  const named = parentOf(start);
  if (!named || start.kind === 'ContinueAsNew') return undefined;
  return parent?.instance === named.instance && parent.id === named.id && sameExecution(parent, named)
    ? undefined
    : named;
}

/** Records of old natives name no execution: then nothing speaks against it. */
function sameExecution(a: ParentLink, b: ParentLink): boolean {
  return a.executionId === undefined || b.executionId === undefined || a.executionId === b.executionId;
}

function childExists(parent: ParentLink, message: string): WorkItem {
  return {
    kind: 'SubOrchFailed',
    parentInstance: parent.instance,
    parentExecutionId: parent.executionId,
    parentId: parent.id,
    details: orchestrationFailed(message),
  };
}

/** A terminal event is not always the last one: breadcrumbs follow it (T-11). */
function lastTerminal(history: readonly HistoryEvent[]): HistoryEvent | undefined {
  return history.findLast(
    ({ kind }) =>
      kind === 'OrchestrationCompleted' || kind === 'OrchestrationFailed' || kind === 'OrchestrationContinuedAsNew',
  );
}

function startedOf(history: readonly HistoryEvent[]): EventOf<'OrchestrationStarted'> | undefined {
  return history.findLast((event): event is EventOf<'OrchestrationStarted'> => event.kind === 'OrchestrationStarted');
}

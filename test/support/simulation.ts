import { expect } from '@jest/globals';
import { readBatch, startRecord } from '../../src/runtime/replay/batch.js';
import type { CreateDriver } from '../../src/runtime/replay/driver.js';
import { createExecution } from '../../src/runtime/replay/execution.js';
import type { LiveExecution, TurnOutcome } from '../../src/runtime/replay/turn.js';
import type { HistoryEvent } from '../../src/wire/event.js';
import { decodeEvent, encodeEvent } from '../../src/wire/event.js';
import type { WorkItem } from '../../src/wire/work-item.js';
import { INSTANCE, T0 } from './history-builder.js';
import { START } from './turns.js';

export interface SimulationOptions {
  readonly driver: CreateDriver;
  /** Go on with the live execution where it may; otherwise every turn replays from the start. */
  readonly warm?: boolean;
  /** Take each warm turn cold, too, and expect the same decisions. */
  readonly verify?: boolean;
}

/**
 * One instance in memory: stores what turns commit, and keeps what they scheduled until a
 * test hands it back as messages. Each turn is at a later moment than the one before.
 */
export class Simulation {
  executionId = 1;
  /** Histories by execution. */
  readonly histories = new Map<number, HistoryEvent[]>();
  /** What turns sent out and nobody has dealt with. */
  workerItems: WorkItem[] = [];
  orchestratorItems: WorkItem[] = [];
  readonly outcomes: TurnOutcome[] = [];
  warmTurns = 0;
  private live: LiveExecution | undefined;
  private kv = new Map<string, { value: string; lastUpdatedAtMs: number }>();
  private nowMs = T0;

  constructor(private readonly options: SimulationOptions) {}

  get history(): HistoryEvent[] {
    let events = this.histories.get(this.executionId);
    if (!events) this.histories.set(this.executionId, (events = []));
    return events;
  }

  get last(): TurnOutcome | undefined {
    return this.outcomes.at(-1);
  }

  get isOver(): boolean {
    const kind = this.last?.result.kind;
    return kind !== undefined && kind !== 'continued' && kind !== 'continuedAsNew';
  }

  /** Forgets the live execution, as the end of a process does. */
  crash(): void {
    this.live = undefined;
  }

  start(...messages: readonly WorkItem[]): TurnOutcome {
    return this.take(undefined, messages);
  }

  turn(...messages: readonly WorkItem[]): TurnOutcome {
    return this.take(undefined, messages);
  }

  /** The next execution, from the message that the last turn left. */
  continueAsNew(...messages: readonly WorkItem[]): TurnOutcome {
    const item = this.orchestratorItems.find(({ kind }) => kind === 'ContinueAsNew');
    if (!item) throw new Error('nothing continues as new');
    this.orchestratorItems = this.orchestratorItems.filter((other) => other !== item);
    this.executionId++;
    this.live = undefined;
    return this.take(item, messages);
  }

  /** Every stored history of the current execution replays: again there is nothing new. */
  expectReplays(): void {
    const outcome = this.cold({ messages: [], start: START, nowMs: this.nowMs + 50_000 });
    expect(outcome.historyDelta).toEqual([]);
  }

  private take(startItem: WorkItem | undefined, given: readonly WorkItem[]): TurnOutcome {
    const batch = readBatch([...(startItem ? [startItem] : []), ...given]);
    const start = batch.start ? startRecord(batch.start, '1.0.0') : START;
    const { messages } = batch;
    this.nowMs += 10_000;
    const turn = { messages, start, nowMs: this.nowMs };
    const live = this.live;
    this.live = undefined;
    let outcome: TurnOutcome;
    if (live) {
      this.warmTurns++;
      outcome = now(live.runWarm({ messages, now: () => turn.nowMs }));
      if (this.options.verify) {
        expect(comparable(outcome)).toEqual(comparable(this.cold(turn)));
      }
      if (outcome.keepWarm) this.live = live;
    } else {
      const execution = this.newExecution();
      outcome = now(execution.runCold({ history: this.history, ...turn, kvSnapshot: this.kv, now: () => turn.nowMs }));
      if (outcome.keepWarm && this.options.warm) this.live = execution;
    }
    this.commit(outcome);
    return outcome;
  }

  private cold(turn: { messages: readonly WorkItem[]; start: typeof START; nowMs: number }): TurnOutcome {
    // Through the wire, so that nothing rests on identity or on fields that are not stored.
    const history = this.history.map((event) => decodeEvent(encodeEvent(event)));
    return now(this.newExecution().runCold({ history, ...turn, kvSnapshot: this.kv, now: () => turn.nowMs }));
  }

  private newExecution(): LiveExecution {
    return createExecution({
      instance: INSTANCE,
      executionId: this.executionId,
      createDriver: this.options.driver,
    });
  }

  private commit(outcome: TurnOutcome): void {
    this.history.push(...outcome.historyDelta);
    const cancelled = new Set(outcome.cancelledActivities.map(({ activityId }) => activityId));
    this.workerItems = [...this.workerItems, ...outcome.workerItems].filter((item) => {
      return item.kind !== 'ActivityExecute' || !cancelled.has(item.id);
    });
    this.orchestratorItems.push(...outcome.orchestratorItems);
    this.outcomes.push(outcome);
    if (outcome.metadata.status !== undefined) this.foldKeyValues();
  }

  /** At the end of an execution its changes become the snapshot of the next one. */
  private foldKeyValues(): void {
    for (const event of this.history) {
      if (event.kind === 'KeyValueSet') {
        this.kv.set(event.key, { value: event.value, lastUpdatedAtMs: event.lastUpdatedAtMs });
      } else if (event.kind === 'KeyValueCleared') this.kv.delete(event.key);
      else if (event.kind === 'KeyValuesCleared') this.kv.clear();
    }
  }
}

function now(outcome: TurnOutcome | Promise<TurnOutcome>): TurnOutcome {
  if (outcome instanceof Promise) throw new Error('a synchronous driver gave a promise');
  return outcome;
}

/** Everything that a turn commits. */
export function comparable(outcome: TurnOutcome): object {
  const { result, historyDelta, workerItems, orchestratorItems, cancelledActivities, metadata, eventCount } = outcome;
  return JSON.parse(
    JSON.stringify({
      result,
      events: historyDelta.map(encodeEvent),
      workerItems,
      orchestratorItems,
      cancelledActivities,
      metadata,
      eventCount,
    }),
  ) as object;
}

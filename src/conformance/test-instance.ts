import type { ActivityRef, ExecutionMetadata, LockedOrchestrationItem } from '../provider/provider.js';
import type { EventBody } from '../wire/event.js';
import type { WorkItem } from '../wire/work-item.js';
import { continueAsNewItem, numbered, ORCHESTRATION, started, VERSION } from './records.js';
import type { Trial } from './trial.js';

/** What a turn of a {@link TestInstance} commits; absent parts are empty. */
export interface InstanceTurn {
  /** Numbered in order, after those of earlier turns. */
  readonly events?: readonly EventBody[];
  readonly workerItems?: readonly WorkItem[];
  readonly orchestratorItems?: readonly WorkItem[];
  readonly metadata?: ExecutionMetadata;
  readonly cancelledActivities?: readonly ActivityRef[];
}

/** An instance that a check drives turn by turn; it knows its execution and its next event id. */
export class TestInstance {
  private executionId = 1;
  private nextEventId = 1;

  constructor(
    private readonly t: Trial,
    readonly id: string,
  ) {}

  /** Pokes the instance, fetches it and commits. */
  async turn(turn: InstanceTurn = {}): Promise<void> {
    await this.t.poke(this.id);
    await this.commit(await this.t.take(this.id), turn);
  }

  /** Pokes the instance and fetches it. */
  async pokeAndTake(): Promise<LockedOrchestrationItem> {
    await this.t.poke(this.id);
    return this.t.take(this.id);
  }

  /** Acknowledges a fetched turn. */
  async commit(item: LockedOrchestrationItem, turn: InstanceTurn = {}): Promise<void> {
    const events = turn.events ?? [];
    await this.t.ack(item, {
      ...turn,
      executionId: this.executionId,
      historyDelta: numbered(this.id, this.executionId, this.nextEventId, events),
    });
    this.nextEventId += events.length;
  }

  /** Ends the instance in a turn of its own. */
  complete(turn: InstanceTurn = {}): Promise<void> {
    return this.turn({
      ...turn,
      events: [...(turn.events ?? []), { kind: 'OrchestrationCompleted', output: '"done"' }],
      metadata: { status: 'Completed', output: '"done"', ...turn.metadata },
    });
  }

  /** Ends the execution in a turn of its own; the next one is queued, not started. */
  continueAsNew(turn: InstanceTurn = {}): Promise<void> {
    return this.turn({
      ...turn,
      events: [...(turn.events ?? []), { kind: 'OrchestrationContinuedAsNew', input: '{}' }],
      orchestratorItems: [...(turn.orchestratorItems ?? []), continueAsNewItem(this.id)],
      metadata: { status: 'ContinuedAsNew', output: '{}', ...turn.metadata },
    });
  }

  /** Fetches the queued start of the next execution and commits its first turn. */
  async startNext(turn: InstanceTurn = {}): Promise<void> {
    await this.commitFirst(await this.t.take(this.id), turn);
  }

  /** Commits the first turn of the next execution for an item fetched already. */
  async commitFirst(item: LockedOrchestrationItem, turn: InstanceTurn = {}): Promise<void> {
    this.executionId += 1;
    this.nextEventId = 1;
    await this.commit(item, {
      ...turn,
      events: [started(), ...(turn.events ?? [])],
      metadata: { orchestrationName: ORCHESTRATION, orchestrationVersion: VERSION, ...turn.metadata },
    });
  }

  /** Continues as new until this execution runs. */
  async reach(executionId: number): Promise<void> {
    while (this.executionId < executionId) {
      await this.continueAsNew();
      await this.startNext();
    }
  }
}

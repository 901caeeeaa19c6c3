import type { ActivityRef, ExecutionMetadata, LockedOrchestrationItem } from '../../../src/provider/provider.js';
import { COMPAT_VERSION } from '../../../src/wire/compat-version.js';
import type { EventBody, HistoryEvent } from '../../../src/wire/event.js';
import type { WorkItem } from '../../../src/wire/work-item.js';
import { numbered } from '../../../src/conformance/records.js';
import type { SeededRandom } from './random.js';

/** Few enough that sequences come back to the same ones. */
export const INSTANCES = ['alpha', 'beta', 'gamma', "o'brien 😀", 'alpha::sub::1'] as const;
export const KEYS = ['k1', 'k2', 'k3', 'schlüssel'] as const;
export const SESSIONS = ['s1', 's2'] as const;
export const OWNERS = ['worker-a', 'worker-b'] as const;
export const TAGS = ['gpu', 'cpu'] as const;
const TEXTS = ['', '"x"', '{"a":[1,null]}', '"größer 😀"', 'not json', '{"s":"a\\u0000b"}'] as const;
const VERSIONS = [null, '1.0.0', '2.1.0'] as const;
const PINS = [COMPAT_VERSION, { major: 1, minor: 2, patch: 3 }, { major: 2, minor: 0, patch: 999 }] as const;

/** Everything that a turn commits, but the lock. */
export interface RandomTurn {
  readonly executionId: number;
  readonly historyDelta: readonly HistoryEvent[];
  readonly workerItems: readonly WorkItem[];
  readonly orchestratorItems: readonly WorkItem[];
  readonly metadata: ExecutionMetadata;
  readonly cancelledActivities: readonly ActivityRef[];
}

/** Makes records; what it makes depends on nothing but the random numbers and the given moment. */
export class RandomContent {
  constructor(
    private readonly random: SeededRandom,
    private readonly nowMs: () => number,
  ) {}

  instance(): string {
    return this.random.pick(INSTANCES);
  }

  private text(): string {
    return this.random.pick(TEXTS);
  }

  activity(instance = this.instance()): WorkItem {
    const { random } = this;
    return {
      kind: 'ActivityExecute',
      instance,
      executionId: random.between(1, 2),
      id: random.between(2, 6),
      name: 'Work',
      input: this.text(),
      ...(random.chance(0.3) ? { sessionId: random.pick(SESSIONS) } : {}),
      ...(random.chance(0.3) ? { tag: random.pick(TAGS) } : {}),
      ...(random.chance(0.1) ? { trace: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' } : {}),
    };
  }

  completion(of: WorkItem): WorkItem {
    const { random } = this;
    const key =
      of.kind === 'ActivityExecute'
        ? { instance: of.instance, executionId: of.executionId, id: of.id }
        : { instance: this.instance(), executionId: 1, id: 2 };
    if (random.chance(0.7)) return { kind: 'ActivityCompleted', ...key, result: this.text() };
    return {
      kind: 'ActivityFailed',
      ...key,
      details: { kind: 'Application', application: { kind: 'ActivityFailed' }, message: 'boom', retryable: false },
    };
  }

  start(instance = this.instance(), parent?: string): WorkItem {
    const { random } = this;
    return {
      kind: 'StartOrchestration',
      instance,
      orchestration: random.pick(['First', 'Second']),
      input: this.text(),
      version: random.pick(VERSIONS),
      parentInstance: parent ?? null,
      parentId: parent === undefined ? null : random.between(2, 5),
      ...(parent === undefined || random.chance(0.2) ? {} : { parentExecutionId: 1 }),
      executionId: 1,
    };
  }

  /** Any message but a start. */
  message(instance = this.instance()): WorkItem {
    const { random } = this;
    const id = random.between(2, 6);
    switch (
      random.weighted({ event: 4, mailbox: 3, cancel: 1, timer: 3, completed: 2, child: 1, failedChild: 1, again: 1 })
    ) {
      case 'event':
        return { kind: 'ExternalRaised', instance, name: 'go', data: this.text() };
      case 'mailbox':
        return { kind: 'QueueMessage', instance, name: 'mbox', data: this.text() };
      case 'cancel':
        return { kind: 'CancelInstance', instance, reason: random.pick(['', 'enough']) };
      case 'timer':
        return { kind: 'TimerFired', instance, executionId: 1, id, fireAtMs: this.fireAtMs() };
      case 'completed':
        return { kind: 'ActivityCompleted', instance, executionId: 1, id, result: this.text() };
      case 'child':
        return {
          kind: 'SubOrchCompleted',
          parentInstance: instance,
          parentExecutionId: 1,
          parentId: id,
          result: this.text(),
        };
      case 'failedChild':
        return {
          kind: 'SubOrchFailed',
          parentInstance: instance,
          parentId: id,
          details: {
            kind: 'Application',
            application: { kind: 'Cancelled', reason: 'parent canceled' },
            message: '',
            retryable: false,
          },
        };
      case 'again':
        return this.continueAsNew(instance);
    }
  }

  continueAsNew(instance: string): WorkItem {
    const { random } = this;
    return {
      kind: 'ContinueAsNew',
      instance,
      orchestration: 'First',
      input: this.text(),
      version: random.pick(VERSIONS),
      carryForwardEvents: random.several(0, 2, () => ['mbox', this.text()] as const),
      ...(random.chance(0.3) ? { initialCustomStatus: 'carried' } : {}),
    };
  }

  /** Past, at once, soon or much later. */
  private fireAtMs(): number {
    const now = this.nowMs();
    return this.random.pick([0, now - 5_000, now, now + 1_500, now + 20_000]);
  }

  /** A turn for a fetched instance, mostly one that a runtime could have made. */
  turn(item: LockedOrchestrationItem): RandomTurn {
    const { random } = this;
    const { instance } = item;
    const first = item.messages[0];
    const isNew = item.history.events.length === 0 && !item.historyError;
    const goesOn = first?.kind === 'ContinueAsNew' && !isNew;
    const begins = goesOn || (isNew && (first?.kind === 'StartOrchestration' || random.chance(0.3)));
    const executionId = goesOn ? item.executionId + 1 : item.executionId;
    const lastId = goesOn ? 0 : (item.history.events.at(-1)?.eventId ?? 0);
    const status = random.weighted({ none: 12, Completed: 2, Failed: 1, ContinuedAsNew: 2, Running: 1 });
    const bodies: EventBody[] = [...(begins ? [this.started(item)] : []), ...random.several(0, 4, () => this.event())];
    // Rarely an id that is taken.
    const firstId = random.chance(0.03) ? Math.max(1, lastId) : lastId + 1;
    const workerItems = random.several(0, 2, () => this.activity(instance));
    return {
      executionId,
      historyDelta: numbered(instance, executionId, firstId, bodies),
      workerItems,
      orchestratorItems: [
        ...bodies.flatMap((body) => this.startOfChild(instance, body)),
        ...random.several(0, 2, () => (random.chance(0.7) ? this.message() : this.start())),
        ...(status === 'ContinuedAsNew' ? [this.continueAsNew(instance)] : []),
      ],
      metadata: {
        ...(begins ? this.naming(item) : {}),
        ...(status === 'none' ? {} : { status }),
        ...(status !== 'none' && random.chance(0.8) ? { output: this.text() } : {}),
      },
      cancelledActivities: random.several(0, 2, () => ({
        instance,
        executionId: random.between(1, 2),
        activityId: random.between(2, 6),
      })),
    };
  }

  private naming(item: LockedOrchestrationItem): ExecutionMetadata {
    const first = item.messages[0];
    const parent = first?.kind === 'StartOrchestration' ? first.parentInstance : null;
    return {
      orchestrationName: item.orchestrationName,
      orchestrationVersion: item.version === 'unknown' ? '1.0.0' : item.version,
      ...(parent === null ? {} : { parentInstanceId: parent }),
      ...(this.random.chance(0.7) ? { pinnedDuroxideVersion: this.random.pick(PINS) } : {}),
    };
  }

  private started({ orchestrationName, version }: LockedOrchestrationItem): EventBody {
    const { random } = this;
    return {
      kind: 'OrchestrationStarted',
      name: orchestrationName,
      version,
      input: this.text(),
      parentInstance: null,
      parentId: null,
      ...(random.chance(0.3) ? { carryForwardEvents: random.several(0, 3, () => ['mbox', this.text()] as const) } : {}),
    };
  }

  /** A child that an event schedules is also started, as a runtime does it. */
  private startOfChild(parent: string, body: EventBody): WorkItem[] {
    if (body.kind !== 'SubOrchestrationScheduled') return [];
    return [this.start(`${parent}::${body.instance}`, parent)];
  }

  private event(): EventBody {
    const { random } = this;
    switch (
      random.weighted({ set: 4, clear: 2, clearAll: 1, status: 2, activity: 2, done: 1, timer: 1, heard: 1, child: 1 })
    ) {
      case 'set':
        return {
          kind: 'KeyValueSet',
          key: random.pick(KEYS),
          value: this.text(),
          lastUpdatedAtMs: this.nowMs() - random.below(1_000),
        };
      case 'clear':
        return { kind: 'KeyValueCleared', key: random.pick(KEYS) };
      case 'clearAll':
        return { kind: 'KeyValuesCleared' };
      case 'status':
        return { kind: 'CustomStatusUpdated', status: random.pick([null, 'here', 'there']) };
      case 'activity':
        return { kind: 'ActivityScheduled', name: 'Work', input: this.text(), tag: 'gpu' };
      case 'done':
        return { kind: 'ActivityCompleted', result: this.text() };
      case 'timer':
        return { kind: 'TimerCreated', fireAtMs: this.fireAtMs() };
      case 'heard':
        return { kind: 'ExternalEvent', name: 'go', data: this.text() };
      case 'child':
        return {
          kind: 'SubOrchestrationScheduled',
          name: 'Child',
          instance: `sub::${random.between(1, 3)}`,
          input: this.text(),
        };
    }
  }
}

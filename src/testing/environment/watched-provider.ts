import type { ActivityTransactions } from '../../provider/activity-transactions.js';
import type {
  AckOrchestrationItem,
  FetchedOrchestrationItems,
  LockedWorkItem,
  Provider,
  QueueName,
  Result,
} from '../../provider/provider.js';
import { ProviderError } from '../../provider/provider-error.js';
import type { CrashPoints, Moment } from './crash-points.js';
import { watchedSchedules } from './watched-schedules.js';
import { StartQueueWatch } from './watched-start-queues.js';

/** What one process of the environment sees of the store. */
export interface Watched {
  readonly provider: Provider;
  /** Calls that have not answered yet. */
  pending(): number;
  /** As if the process had died: nothing is written any more, and no answer arrives as it was. */
  die(): void;
  readonly isDead: boolean;
  /** Wakes whoever listens for work. */
  wake(): void;
}

type AnyCall = (...parameters: unknown[]) => unknown;

export interface WatchedParts {
  readonly onChange: () => void;
  readonly onDeath: () => void;
  readonly expect: (atMs: number) => void;
  readonly fires: (atMs: number) => void;
}

/**
 * The store as a process that may crash sees it: every call is counted, and the crash
 * points are asked before and after the calls that matter.
 * @param onChange called when a call begins or ends
 * @param onDeath called when a crash point strikes
 * @param expect called with a moment at which something may happen of which the store does not know
 * @param fires called with the next moment at which a schedule fires
 */
export function watchedProvider(
  store: Provider,
  points: CrashPoints,
  { onChange, onDeath, expect, fires }: WatchedParts,
): Watched {
  let pending = 0;
  let dead = false;
  const listeners = new Set<(queue: QueueName) => unknown>();
  const starts = new StartQueueWatch(() => store.nowMs(), expect);

  const die = () => {
    if (dead) return;
    dead = true;
    points.forgetLocks();
    onDeath();
  };
  const dieIf = (strikes: boolean) => {
    if (strikes) die();
    if (dead) throw crashed();
  };

  const call = async (method: string, parameters: unknown[], run: AnyCall): Promise<unknown> => {
    if (dead) throw crashed();
    pending += 1;
    onChange();
    try {
      const commits = COMMITS.has(method) ? points.commitsOf(parameters[0] as never) : [];
      dieIf(points.strikes('before', commits));
      const answer = await run(...parameters);
      if (!dead) dieIf(points.strikes('after', commits));
      const begun = startsOf(method, parameters, answer, points);
      // Both sides of a start are the same moment: nothing happens between fetch and start.
      dieIf(points.strikes('before', begun) || points.strikes('after', begun));
      return answer;
    } finally {
      pending -= 1;
      onChange();
    }
  };

  /** A transactional activity: its commit is that of its own transaction. */
  const inTransaction =
    (transactions: ActivityTransactions): ActivityTransactions['run'] =>
    async (activity) => {
      if (dead) return { kind: 'unavailable', error: crashed() };
      pending += 1;
      onChange();
      try {
        const commits = points.commitsOf([activity.lock]);
        const outcome = await transactions.run({
          ...activity,
          use: async (tx, scope) => {
            const completion = await activity.use(tx, scope);
            dieIf(points.strikes('before', commits));
            return completion;
          },
        });
        if (outcome.kind === 'committed' && !dead && points.strikes('after', commits)) die();
        return dead ? { kind: 'unavailable', error: crashed() } : outcome;
      } finally {
        pending -= 1;
        onChange();
      }
    };

  const provider = new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function' || typeof property !== 'string') return value;
      const method = (value as AnyCall).bind(target);
      if (property === 'onWakeUp') {
        return (listener: (queue: QueueName) => unknown) => {
          listeners.add(listener);
          const release = target.onWakeUp((queue) => !dead && listener(queue));
          return () => {
            listeners.delete(listener);
            release();
          };
        };
      }
      // Moments in which a test lets a process crash are told by the calls: each activity ends in one of its own.
      if (property === 'takesDirectTurns') return false;
      if (property === 'schedules') {
        return () => {
          const schedules = target.schedules?.();
          const counted = <T>(name: string, run: () => Promise<T>) => call(name, [], run) as Promise<T>;
          return schedules && watchedSchedules(schedules, { nowMs: () => store.nowMs(), call: counted, fires });
        };
      }
      if (property === 'startQueues') {
        return () => {
          const queues = target.startQueues?.();
          return queues && starts.watched(queues, (name, run) => call(name, [], run) as never);
        };
      }
      if (property === 'within') return (tx: unknown) => starts.scope(target.within(tx));
      if (property === 'ackOrchestrationItems') {
        return async (...parameters: unknown[]) => {
          const answer = await call(property, parameters, method);
          starts.ended();
          return answer;
        };
      }
      if (property === 'activityTransactions') {
        return () => {
          const transactions = target.activityTransactions?.();
          return transactions && { ...bound(transactions), run: inTransaction(transactions) };
        };
      }
      return CALLS.has(property) ? (...parameters: unknown[]) => call(property, parameters, method) : method;
    },
  });

  return {
    provider,
    pending: () => pending,
    die,
    get isDead() {
      return dead;
    },
    wake() {
      for (const listener of listeners) {
        listener('orchestrator');
        listener('worker');
      }
    },
  };
}

/** What a process asks of the database. */
const CALLS: ReadonlySet<string> = new Set<keyof Provider>([
  'fetchOrchestrationItems',
  'ackOrchestrationItems',
  'abandonOrchestrationItems',
  'renewOrchestrationItemLocks',
  'fetchWorkItems',
  'ackWorkItems',
  'abandonWorkItems',
  'renewWorkItemLocks',
  'enqueueForOrchestrator',
  'enqueueForWorker',
  'enqueueStartIfAbsent',
  'loadHistory',
  'due',
  'renewSessionLock',
  'cleanupOrphanedSessions',
  'read',
  'readWithExecution',
  'getCustomStatus',
  'instanceStates',
  'getKvValues',
  'getKvValue',
  'getKvAllValues',
  'getInstanceStats',
]);
const COMMITS = new Set(['ackOrchestrationItems', 'ackWorkItems']);

/** What this process may run from now on. */
function startsOf(method: string, parameters: readonly unknown[], answer: unknown, points: CrashPoints): Moment[] {
  switch (method) {
    case 'fetchOrchestrationItems':
      return (answer as FetchedOrchestrationItems).items.map(({ orchestrationName: name, instance, lockToken }) => {
        points.remember(lockToken, { kind: 'orchestration', name, instance });
        return { at: 'start', kind: 'orchestration', name, instance };
      });
    case 'fetchWorkItems':
      return activityStarts(answer as readonly LockedWorkItem[], points);
    case 'ackOrchestrationItems':
      return activityStarts(
        lockedByTurns(parameters[0] as readonly AckOrchestrationItem[], answer as Result[]),
        points,
      );
    default:
      return [];
  }
}

function activityStarts(rows: readonly Pick<LockedWorkItem, 'item' | 'lockToken'>[], points: CrashPoints): Moment[] {
  return rows.flatMap(({ item, lockToken }) => {
    if (item.kind !== 'ActivityExecute') return [];
    const { name, instance } = item;
    points.remember(lockToken, { kind: 'activity', name, instance });
    return [{ at: 'start' as const, kind: 'activity' as const, name, instance }];
  });
}

/** Activities that committed turns have kept for this process. */
function lockedByTurns(turns: readonly AckOrchestrationItem[], results: readonly Result[]) {
  return turns.flatMap(({ workerItems, workerLocks }, index) => {
    if (results[index]?.ok !== true) return [];
    return workerItems.flatMap((item, at) => {
      const lockToken = workerLocks?.tokens[at];
      return typeof lockToken === 'string' ? [{ item, lockToken }] : [];
    });
  });
}

function bound(transactions: ActivityTransactions): Omit<ActivityTransactions, 'run'> {
  return {
    runsAlone: transactions.runsAlone,
    refuseInside: (operation) => transactions.refuseInside(operation),
  };
}

function crashed(): ProviderError {
  return ProviderError.retryable('crash', 'the test let this process crash');
}

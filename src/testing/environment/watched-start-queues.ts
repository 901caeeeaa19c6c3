import type { Ms, TransactionScope } from '../../provider/provider.js';
import type { Admission, QueuedStart, StartQueueStore } from '../../provider/start-queues.js';

/** Longer than the pause between two looks for starts, in ms of the virtual clock; and than the one after somebody else's. */
const PAUSE_MS: Ms = 50;
const BUSY_PAUSE_MS: Ms = 300;

/** What start queues have to do with the virtual clock, for one process. */
export class StartQueueWatch {
  /** Whether ends let starts in. */
  private isInUse = false;

  constructor(
    private readonly nowMs: () => Ms,
    /** Something may happen at this moment. */
    private readonly expect: (atMs: Ms) => void,
  ) {}

  /** The store, whose calls go through `call`. */
  watched(queues: StartQueueStore, call: <T>(method: string, run: () => Promise<T>) => Promise<T>): StartQueueStore {
    const bringing = <T>(method: string, run: () => Promise<T>) => call(method, run).finally(() => this.soon());
    return {
      add: (id, limits, isPaused) => call('addStartQueue', () => queues.add(id, limits, isPaused)),
      find: (id) => call('findStartQueue', () => queues.find(id)),
      list: () => call('listStartQueues', () => queues.list()),
      figures: (limit) => call('startQueueFigures', () => queues.figures(limit)),
      change: (id, change) => bringing('changeStartQueue', () => queues.change(id, change)),
      remove: (id, waiting) => call('removeStartQueue', () => queues.remove(id, waiting)),
      enqueue: (starts) => bringing('queueStart', () => queues.enqueue(starts)),
      admit: async (ended) => this.noted(await call('admitStarts', () => queues.admit(ended))),
      onChanged: (listener) => queues.onChanged(listener),
    };
  }

  /** A caller's transaction, at whose commit starts may be there. */
  scope(scope: TransactionScope): TransactionScope {
    const queueStart = scope.queueStart?.bind(scope);
    if (!queueStart) return scope;
    return Object.assign(Object.create(scope) as TransactionScope, {
      queueStart: (start: QueuedStart) => queueStart(start).finally(() => this.soon()),
    });
  }

  /** Turns ended. */
  ended(): void {
    if (this.isInUse) this.soon();
  }

  private noted(admission: Admission): Admission {
    this.isInUse = admission.inUse;
    if (admission.inUse) this.soon(admission.busy ? BUSY_PAUSE_MS : PAUSE_MS);
    if (admission.nextMs !== null) this.expect(admission.nextMs);
    return admission;
  }

  private soon(pauseMs = PAUSE_MS): void {
    this.expect(this.nowMs() + pauseMs);
  }
}

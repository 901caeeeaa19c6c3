import type {
  Admission,
  QueuedStart,
  StartLimits,
  StartQueueChange,
  StartQueueStore,
  WaitingStarts,
} from '../../start-queues.js';
import { isMissingTable } from '../admin/own-tables.js';
import type { ProviderContext } from '../context.js';
import type { Notifications } from '../notifications.js';
import { StartAdmission } from './admit-starts.js';
import { enqueueStarts } from './enqueue-starts.js';
import { addQueue, changeQueue, findQueue, listQueues, removeQueue } from './queue-definitions.js';
import { queueFigures } from './queue-figures.js';
import { guarded } from './queue-rows.js';

/** {@link StartQueueStore} in `ddz_start_queues` and `ddz_queued_starts`. */
export class DrizzleStartQueueStore implements StartQueueStore {
  private readonly admission: StartAdmission;

  constructor(
    private readonly ctx: ProviderContext,
    private readonly notifications: Notifications,
  ) {
    this.admission = new StartAdmission(ctx);
  }

  add(id: string, limits: StartLimits, isPaused: boolean): Promise<boolean> {
    return this.guarded('create_start_queue', () => addQueue(this.ctx, id, limits, isPaused));
  }

  find(id: string) {
    return this.guarded('get_start_queue', () => findQueue(this.ctx, id));
  }

  list() {
    return this.guarded('list_start_queues', () => listQueues(this.ctx));
  }

  figures(limit: number) {
    return this.guarded('start_queue_figures', () => queueFigures(this.ctx, limit));
  }

  async change(id: string, change: StartQueueChange): Promise<boolean> {
    const isChanged = await this.guarded('change_start_queue', () => changeQueue(this.ctx, id, change));
    if (isChanged) this.ctx.wake('startQueues');
    return isChanged;
  }

  async remove(id: string, waiting: WaitingStarts) {
    const removal = await this.guarded('delete_start_queue', () => removeQueue(this.ctx, id, waiting));
    if (removal.outcome === 'removed' && waiting === 'start' && removal.waiting > 0) this.ctx.wake('orchestrator');
    return removal;
  }

  async enqueue(starts: readonly QueuedStart[]) {
    return this.guarded('queue_start', async () => {
      const results = await enqueueStarts(this.ctx, starts);
      const missing = results.find((result) => !result.ok && isMissingTable(result.error));
      if (missing && !missing.ok) throw missing.error;
      return results;
    });
  }

  admit(ended: readonly string[] = []): Promise<Admission> {
    return this.guarded('admit_starts', () => this.admission.admit(ended));
  }

  onChanged(listener: () => void): () => void {
    return this.notifications.onChanged('startQueues', listener);
  }

  private guarded<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return guarded(operation, this.ctx, work);
  }
}

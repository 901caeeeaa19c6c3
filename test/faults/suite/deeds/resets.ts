import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ProviderError } from '../../../../src/index.js';
import { findRetryPoint } from '../../../../src/provider/retry-point.js';
import { decodeEvent } from '../../../../src/wire/event.js';
import { persist, wasInDoubt } from '../persist.js';
import { completedWith, type Deed, type Instances, type Stage, tableOf } from './deed.js';

interface StoredEvent {
  readonly instance_id: string;
  readonly event_id: number;
  readonly event_data: string;
}

interface Before {
  readonly events: readonly StoredEvent[];
  /** The last event that stays, by instance. */
  readonly points: ReadonlyMap<string, number>;
}

/**
 * Failed instances, each with a failed child, are taken back to their failed step, by two
 * callers at once. One of them passes, the history before the step stays as it was, the
 * archive has everything else, once, and the instance completes.
 */
export class Resets implements Deed {
  private readonly waiting = new Set<string>();
  private readonly reset = new Map<string, Before>();
  private readonly found: string[] = [];
  private readonly checked = new Set<string>();

  /** @param onChecked told of each instance of which nothing more is wanted */
  constructor(
    private readonly stage: Stage,
    private readonly onChecked: (id: string) => void,
  ) {}

  async begin(number: number): Promise<void> {
    const id = `mended-${number}`;
    this.waiting.add(id);
    await persist(() => this.stage.client.startOrchestration(id, 'mended', id));
  }

  async tend(instances: Instances): Promise<void> {
    const failed = [...this.waiting].filter((id) => !this.reset.has(id) && instances.get(id)?.status === 'Failed');
    await Promise.all(failed.map((id) => this.mend(id)));
    for (const [id, before] of this.reset) {
      if (instances.get(id)?.status !== 'Completed' || this.checked.has(id)) continue;
      this.checked.add(id);
      this.found.push(...completedWith(instances, id, [1, 'mended']), ...(await this.compare(id, before)));
      this.waiting.delete(id);
      this.onChecked(id);
    }
  }

  open(): readonly string[] {
    return [...this.waiting];
  }

  async problems(): Promise<string[]> {
    return this.found;
  }

  private async mend(id: string): Promise<void> {
    const before = await this.lookAt(id);
    this.reset.set(id, before);
    writeFileSync(path.join(this.stage.repairs, id), '');
    const toEventId = before.points.get(id) ?? 0;
    const outcomes = await Promise.all([this.resetOnce(id, toEventId), this.resetOnce(id, toEventId)]);
    const passed = outcomes.filter((outcome) => outcome === 'passed').length;
    if (passed > 1) this.found.push(`${id}: two resets of one failure passed`);
    if (passed === 0 && !outcomes.includes('in doubt')) this.found.push(`${id}: no reset passed`);
  }

  private async resetOnce(id: string, toEventId: number): Promise<'passed' | 'refused' | 'in doubt'> {
    try {
      await persist(() => this.stage.provider.asManagement().resetInstance(id, toEventId));
      return 'passed';
    } catch (error) {
      if (!ProviderError.is(error) || !error.reason.includes('only a failed instance can be')) throw error;
      return wasInDoubt(error) ? 'in doubt' : 'refused';
    }
  }

  private async lookAt(id: string): Promise<Before> {
    const events = await this.read(id, 'history', 'event_id');
    const points = new Map<string, number>();
    for (const instance of new Set(events.map(({ instance_id }) => instance_id))) {
      const own = events.filter(({ instance_id }) => instance_id === instance);
      const point = findRetryPoint(own.map(({ event_data }) => decodeEvent(event_data)));
      if (point.kind === 'none') this.found.push(`${instance} has no point to go back to: ${point.reason}`);
      else points.set(instance, point.toEventId);
    }
    if (points.size !== 2)
      this.found.push(`${id} failed with ${points.size} histories, expected its own and its child's`);
    return { events, points };
  }

  private async compare(id: string, { events, points }: Before): Promise<string[]> {
    const stays = ({ instance_id, event_id }: StoredEvent) => event_id <= (points.get(instance_id) ?? 0);
    const kept = (await this.read(id, 'history', 'event_id')).filter(stays);
    const archived = await this.read(id, 'ddz_history_archive', 'event_id, id');
    const problems: string[] = [];
    if (JSON.stringify(kept) !== JSON.stringify(events.filter(stays))) {
      problems.push(`${id}: a reset changed the history before its point`);
    }
    const taken = events.filter((event) => !stays(event));
    if (JSON.stringify(archived) !== JSON.stringify(taken)) {
      problems.push(`${id}: ${taken.length} events were taken back, and the archive has ${archived.length} or others`);
    }
    return problems;
  }

  private read(id: string, table: string, order: string): Promise<StoredEvent[]> {
    return this.stage.administrator.query<StoredEvent>(
      `select instance_id, event_id::int, event_data from ${tableOf(this.stage, table)}
       where instance_id = $1 or split_part(instance_id, '::', 1) = $1 order by instance_id, ${order}`,
      [id],
    );
  }
}

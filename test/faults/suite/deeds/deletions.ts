import { InstanceNotFoundError, ProviderError } from '../../../../src/index.js';
import { persist } from '../persist.js';
import { type Deed, type Instances, type Stage, traces } from './deed.js';

/**
 * Instances are deleted with their trees: by force while they work and somebody sends them
 * something, and in bulk when they have ended. No table has a row of theirs in the end, and
 * none of them comes back.
 */
export class Deletions implements Deed {
  private readonly living = new Map<string, number>();
  private readonly ended = new Set<string>();
  private readonly deleted: string[] = [];

  constructor(private readonly stage: Stage) {}

  async begin(number: number): Promise<void> {
    const doomed = `doomed-${number}`;
    const swept = `swept-${number}`;
    // Seen this often before it goes, so that it is met in all of its states.
    this.living.set(doomed, number % 4);
    this.ended.add(swept);
    await Promise.all([
      persist(() => this.stage.client.startOrchestration(doomed, 'doomed', { id: doomed, round: 1 })),
      persist(() => this.stage.client.startOrchestration(swept, 'children', swept)),
    ]);
  }

  /** One more that has ended and may go. */
  add(id: string): void {
    this.ended.add(id);
  }

  async tend(instances: Instances): Promise<void> {
    const due: string[] = [];
    for (const [id, looks] of this.living) {
      if (!instances.has(id)) continue;
      if (looks === 0) due.push(id);
      this.living.set(id, looks - 1);
    }
    await Promise.all(due.map((id) => this.deleteLiving(id)));
    const ended = [...this.ended].filter((id) => ['Completed', 'Failed'].includes(instances.get(id)?.status ?? ''));
    if (ended.length > 0) await this.sweep(ended);
  }

  open(): readonly string[] {
    return [...this.living.keys(), ...this.ended];
  }

  problems(): Promise<string[]> {
    return traces(this.stage, this.deleted);
  }

  private async deleteLiving(id: string): Promise<void> {
    const { client, random } = this.stage;
    const remove = random.pick<() => Promise<unknown>>([
      () => client.deleteInstance(id, true),
      () => this.deleteListed(id),
    ]);
    await Promise.all([
      persist(() => client.enqueueEvent(id, 'mail', 'too late')),
      persist(remove).catch((error: unknown) => {
        // An attempt before, whose answer was lost, has deleted it.
        if (!(error instanceof InstanceNotFoundError)) throw error;
      }),
    ]);
    this.living.delete(id);
    this.deleted.push(id);
  }

  /** What a user does who names all of a tree: a child that was born meanwhile is left out, and refused. */
  private async deleteListed(id: string): Promise<void> {
    const admin = this.stage.provider.asManagement();
    for (;;) {
      const { allIds } = await admin.getInstanceTree(id);
      try {
        await admin.deleteInstancesAtomic(allIds, true);
        return;
      } catch (error) {
        if (!ProviderError.is(error) || !error.reason.startsWith('Orphan detected')) throw error;
      }
    }
  }

  private async sweep(ids: string[]): Promise<void> {
    await persist(() => this.stage.client.deleteInstanceBulk({ instanceIds: ids }));
    // A root stays while a child of it runs: it is asked for again.
    const left = new Set((await persist(() => this.stage.client.listAllInstances())).value);
    for (const id of ids) {
      if (left.has(id)) continue;
      this.ended.delete(id);
      this.deleted.push(id);
    }
  }
}

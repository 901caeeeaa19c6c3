import { persist } from '../persist.js';
import { completedWith, type Deed, type Instances, type Stage, tableOf } from './deed.js';

/** Executions of each instance. */
export const PRUNED_ROUNDS = 8;

/**
 * Instances that continue as new are pruned while they run. The current execution is always
 * there, its values and its result are as without pruning, and in the end only what was to
 * be kept is left.
 */
export class Prunes implements Deed {
  private readonly running = new Set<string>();
  private readonly pruned: string[] = [];
  private readonly found: string[] = [];

  constructor(private readonly stage: Stage) {}

  async begin(number: number): Promise<void> {
    const id = `pruned-${number}`;
    this.running.add(id);
    await persist(() => this.stage.client.startOrchestration(id, 'pruned', { id, round: 1 }));
  }

  async tend(instances: Instances): Promise<void> {
    const { client, random } = this.stage;
    await Promise.all(
      [...this.running].map(async (id) => {
        const row = instances.get(id);
        if (!row) return;
        const keepLast = random.pick([0, 1, 2]);
        await persist(() => client.pruneExecutions(id, { keepLast }));
        await this.requireCurrent(id);
        if (row.status !== 'Completed') return;
        // Once more, when there is no execution to come.
        await persist(() => client.pruneExecutionsBulk({ instanceIds: [id] }, { keepLast: 1 }));
        this.running.delete(id);
        this.pruned.push(id);
      }),
    );
  }

  open(): readonly string[] {
    return [...this.running];
  }

  async problems(instances: Instances): Promise<string[]> {
    const problems = [...this.found];
    for (const id of this.pruned) {
      problems.push(...completedWith(instances, id, (PRUNED_ROUNDS * (PRUNED_ROUNDS + 1)) / 2));
      for (const table of ['executions', 'history']) {
        const rows = await this.stage.administrator.query<{ n: number }>(
          `select distinct execution_id::int as n from ${tableOf(this.stage, table)} where instance_id = $1 order by 1`,
          [id],
        );
        const left = rows.map(({ n }) => n).join(', ');
        if (left !== String(PRUNED_ROUNDS)) problems.push(`${id}: ${table} of executions ${left} are left`);
      }
    }
    return problems;
  }

  private async requireCurrent(id: string): Promise<void> {
    const [row] = await this.stage.administrator.query(
      `select from ${tableOf(this.stage, 'instances')} i
       join ${tableOf(this.stage, 'executions')} e on e.instance_id = i.instance_id and e.execution_id = i.current_execution_id
       where i.instance_id = $1 and exists (select from ${tableOf(this.stage, 'history')} h
         where h.instance_id = i.instance_id and h.execution_id = i.current_execution_id)`,
      [id],
    );
    if (!row) this.found.push(`${id}: its current execution was pruned`);
  }
}

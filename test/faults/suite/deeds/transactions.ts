import { sql } from 'drizzle-orm';
import { declareOrchestration, InstanceExistsError, SchemaValidationError } from '../../../../src/index.js';
import { persist } from '../persist.js';
import { completedWith, type Deed, inTransaction, type Instances, type Stage, traces } from './deed.js';

const order = declareOrchestration<string, string>('order');

class RolledBack extends Error {}

/**
 * What broke a transaction of the application's: its driver's errors come as they are, and
 * whatever happens inside is undone. The refusals of our own mean something else.
 */
export function isLostTransaction(error: unknown): boolean {
  // Not by what is an Error: those of sockets are of another realm under Jest.
  return !(
    error instanceof RolledBack ||
    error instanceof InstanceExistsError ||
    error instanceof SchemaValidationError
  );
}

/**
 * A row of the application's, a start and a message in one transaction: all of it when it
 * commits, nothing of it when it rolls back.
 */
export class Transactions implements Deed {
  private readonly running = new Set<string>();
  private readonly committed: string[] = [];
  private readonly rolledBack: string[] = [];

  constructor(private readonly stage: Stage) {}

  async begin(number: number): Promise<void> {
    const paid = `paid-${number}`;
    const unpaid = `unpaid-${number}`;
    this.running.add(paid);
    this.committed.push(paid);
    this.rolledBack.push(unpaid);
    await Promise.all([
      persist(() => this.buy(paid), isLostTransaction),
      persist(async () => {
        const error = await this.buy(unpaid, new RolledBack()).catch((e: unknown) => e);
        if (!(error instanceof RolledBack)) throw error;
      }, isLostTransaction),
    ]);
  }

  async tend(instances: Instances): Promise<void> {
    for (const id of this.running) if (instances.get(id)?.status === 'Completed') this.running.delete(id);
  }

  open(): readonly string[] {
    return [...this.running];
  }

  async problems(instances: Instances): Promise<string[]> {
    const { administrator, appSchema } = this.stage;
    const rows = await administrator.query<{ id: string }>(`select id from "${appSchema}".orders order by id`);
    const orders = rows.map(({ id }) => id);
    const problems = this.committed.flatMap((id) => completedWith(instances, id, `for ${id}`));
    if (JSON.stringify(orders) !== JSON.stringify(this.committed.toSorted())) {
      problems.push(`the committed transactions are ${this.committed.join(', ')}, and the rows ${orders.join(', ')}`);
    }
    return [...problems, ...(await traces(this.stage, this.rolledBack))];
  }

  private async buy(id: string, end?: RolledBack): Promise<void> {
    const { client, appSchema } = this.stage;
    await inTransaction(this.stage, async (tx) => {
      // A row that is there says that an attempt before has committed, which waits for one that still may.
      const { rows } = await tx.execute(
        sql`insert into ${sql.raw(`"${appSchema}".orders`)} (id) values (${id}) on conflict do nothing returning id`,
      );
      if (rows.length === 0) return;
      const ours = client.withTransaction(tx);
      await ours.start(order, id, { id });
      await ours.enqueueEvent(id, 'mail', `for ${id}`);
      if (end) throw end;
    });
  }
}

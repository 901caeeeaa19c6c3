import type pg from 'pg';

const GHOST_KEY = "execution_id || ':' || instance_id";

/** Gives native's side the state that ours has by intention; see `intendedDifferences`. */
export class Reconciler {
  constructor(
    private readonly client: pg.Client,
    private readonly schema: string,
  ) {}

  /**
   * *execution row without instance, name, status and events*, *orphan mailbox batch*:
   * removes the ghosts that `use` makes.
   */
  async withoutGhosts<T>(use: () => Promise<T>): Promise<T> {
    const before = await this.ghosts();
    const answer = await use();
    const added = (await this.ghosts()).filter((ghost) => !before.includes(ghost));
    if (added.length > 0) {
      await this.client.query(`delete from ${this.schema}.executions where ${GHOST_KEY} = any ($1::text[])`, [added]);
    }
    return answer;
  }

  private async ghosts(): Promise<string[]> {
    const { rows } = await this.client.query<{ key: string }>({
      name: `ghosts ${this.schema}`,
      text: `select ${GHOST_KEY} as key from ${this.schema}.executions e
       where e.status = 'Running'
         and not exists (select 1 from ${this.schema}.instances i where i.instance_id = e.instance_id)
         and not exists (select 1 from ${this.schema}.history h
                         where h.instance_id = e.instance_id and h.execution_id = e.execution_id)`,
    });
    return rows.map(({ key }) => key);
  }

  /** *completed-before on continued-as-new* */
  async withCompletionTimes<T>(use: () => Promise<T>): Promise<T> {
    await this.client.query(
      `update ${this.schema}.executions e set completed_at = next.started_at
       from ${this.schema}.executions next
       where e.status = 'ContinuedAsNew' and next.instance_id = e.instance_id
         and next.execution_id = (select min(n.execution_id) from ${this.schema}.executions n
                                  where n.instance_id = e.instance_id and n.execution_id > e.execution_id)`,
    );
    try {
      return await use();
    } finally {
      await this.client.query(
        `update ${this.schema}.executions set completed_at = null where status = 'ContinuedAsNew'`,
      );
    }
  }

  /** *queued children of a deleted parent*, with their locks; how many messages were removed. */
  async removeQueuedChildren(parents: readonly string[]): Promise<number> {
    let removed = 0;
    for (let generation = [...parents]; generation.length > 0;) {
      const { rows } = await this.client.query<{ instance_id: string }>(
        `with starts as (delete from ${this.schema}.orchestrator_queue q
         where (q.work_item::jsonb -> 'StartOrchestration' ->> 'parent_instance') = any ($1::text[])
           and not exists (select 1 from ${this.schema}.instances i where i.instance_id = q.instance_id)
         returning q.instance_id),
         locks as (delete from ${this.schema}.instance_locks where instance_id in (select instance_id from starts))
         select instance_id from starts`,
        [generation],
      );
      removed += rows.length;
      generation = rows.map(({ instance_id }) => instance_id);
    }
    return removed;
  }
}

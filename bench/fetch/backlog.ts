import type pg from 'pg';
import { escapeIdentifier } from 'pg';

/**
 * A backlog of ready instances, each in the middle of its work: two events of history,
 * and the outcome of an activity in the queue, one millisecond after the other.
 */
export class Backlog {
  readonly #own: string;
  readonly #template: string;

  constructor(
    private readonly client: pg.ClientBase,
    schema: string,
    readonly size: number,
  ) {
    this.#own = escapeIdentifier(schema);
    this.#template = escapeIdentifier(`${schema}_template`);
  }

  /** How many may be asked for before it thins out: what is under way when the last one is asked for must not empty it. */
  takeable(fetchers: number, limit: number): number {
    return this.size * 0.9 - (fetchers - 1) * limit;
  }

  /** Fills the empty schema. */
  async create(): Promise<void> {
    const own = this.#own;
    await this.#empty();
    const envelope = (id: number, instance: string, source = 'null') =>
      `'{"event_id":${id},"source_event_id":${source},"instance_id":"' || ${instance} ||
        '","execution_id":1,"timestamp_ms":1796163000000,"duroxide_version":"0.1.30","type":'`;
    await this.client.query(`
      insert into ${own}.instances
        (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at)
        select 'order-' || n, 'Checkout', '1.0.0', 1, now() - interval '2 hours', now() - interval '2 hours'
          from generate_series(1, ${this.size}) n`);
    await this.client.query(`
      insert into ${own}.executions (instance_id, execution_id, status, started_at,
          duroxide_version_major, duroxide_version_minor, duroxide_version_patch)
        select instance_id, 1, 'Running', created_at, 0, 1, 30 from ${own}.instances`);
    await this.client.query(`
      insert into ${own}.history (instance_id, execution_id, event_id, event_type, event_data, created_at)
        select instance_id, 1, 1, 'Event', ${envelope(1, 'instance_id')} ||
            '"OrchestrationStarted","name":"Checkout","version":"1.0.0","input":"{\\"items\\":[1,2,3],\\"customer\\":\\"c-1\\"}","parent_instance":null,"parent_id":null}',
            created_at from ${own}.instances
        union all
        select instance_id, 1, 2, 'Event', ${envelope(2, 'instance_id')} ||
            '"ActivityScheduled","name":"Reserve","input":"{\\"step\\":1}"}', created_at from ${own}.instances`);
    await this.client.query(`
      create schema if not exists ${this.#template}`);
    await this.client.query(`drop table if exists ${this.#template}.queue`);
    await this.client.query(`
      create table ${this.#template}.queue as
        select n::bigint as id, 'order-' || n as instance_id,
            '{"ActivityCompleted":{"instance":"order-' || n || '","execution_id":1,"id":2,"result":"\\"done\\""}}' as work_item,
            now() - interval '1 hour' + n * interval '1 millisecond' as visible_at
          from generate_series(1, ${this.size}) n`);
    await this.restore();
  }

  /** Undoes what fetchers did, and leaves no dead rows behind. */
  async restore(): Promise<void> {
    const own = this.#own;
    await this.client.query(`truncate ${own}.instance_locks, ${own}.worker_queue`);
    await this.client.query(`delete from ${own}.history where event_id > 2`);
    await this.client.query(`delete from ${own}.orchestrator_queue where lock_token is not null`);
    await this.client.query(`
      insert into ${own}.orchestrator_queue (id, instance_id, work_item, visible_at, created_at)
        select t.id, t.instance_id, t.work_item, t.visible_at, t.visible_at from ${this.#template}.queue t
          where not exists (select from ${own}.orchestrator_queue q where q.id = t.id)`);
    for (const table of [
      'orchestrator_queue',
      'instance_locks',
      'history',
      'executions',
      'instances',
      'worker_queue',
    ]) {
      await this.client.query(`vacuum (analyze, index_cleanup on) ${own}.${table}`);
    }
  }

  async #empty(): Promise<void> {
    const own = this.#own;
    await this.client.query(
      `truncate ${own}.instances, ${own}.executions, ${own}.history, ${own}.orchestrator_queue,
        ${own}.worker_queue, ${own}.instance_locks, ${own}.kv_store, ${own}.kv_delta`,
    );
  }
}

import pg from 'pg';
import { emptySchema } from './filled-schema.js';
import { type DecidedTurn, decidedByNative } from './our-turn.js';
import type { Registration } from './scenarios/scenario.js';
import type { DurableSdk } from './sdk.js';
import { clearTurns, readTurns, type RecordedTurn } from './turn-recorder.js';

const LOOK_EVERY_MS = 5;
const PATIENCE_MS = 20_000;

/**
 * Has native take single turns: the stored history and the messages are put into an empty
 * schema that records turns, and what native commits is read back.
 */
export class NativeTurns {
  constructor(
    private readonly sdk: DurableSdk,
    private readonly sql: pg.Client,
    /** Migrated by native, with `recordTurns`. */
    private readonly schema: string,
  ) {}

  /** Lets nothing that native enqueues become visible: only what is put in by hand is run. */
  async install(): Promise<void> {
    const own = pg.escapeIdentifier(this.schema);
    await this.sql.query(`
      create function ${own}.oracle_hold() returns trigger language plpgsql as $body$
      begin
        if current_setting('oracle.seeding', true) is distinct from 'on' then
          new.visible_at := 'infinity';
        end if;
        return new;
      end $body$;
      create trigger oracle_hold before insert on ${own}.orchestrator_queue
        for each row execute function ${own}.oracle_hold()`);
    await this.sql.query(`set oracle.seeding to 'on'`);
  }

  /** Runs `use` while a native runtime with these orchestrations looks at the schema. */
  async with(registrations: readonly Registration[], use: () => Promise<void>): Promise<void> {
    const runtime = this.sdk.runtime({ dispatcherPollIntervalMs: 5, workerTagFilter: 'none', logLevel: 'off' });
    for (const { name, version, fn } of registrations) {
      if (version === undefined) runtime.registerOrchestration(name, fn);
      else runtime.registerOrchestrationVersioned(name, version, fn);
    }
    await runtime.start();
    try {
      await use();
    } finally {
      await runtime.shutdown(100);
    }
  }

  /** What native decides where another engine took this turn. */
  async decide(turn: RecordedTurn, historyAtFetch: readonly string[]): Promise<DecidedTurn> {
    await emptySchema(this.sql, this.schema);
    await clearTurns(this.sql, this.schema);
    await this.#seed(turn, historyAtFetch);
    const endMs = Date.now() + PATIENCE_MS;
    for (;;) {
      const taken = (await readTurns(this.sql, this.schema)).find(({ instance }) => instance === turn.instance);
      if (taken) return decidedByNative(taken);
      if (Date.now() > endMs) throw new Error(`native did not take the turn of ${turn.instance}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** In one transaction: native may look at any moment. */
  async #seed(turn: RecordedTurn, texts: readonly string[]): Promise<void> {
    const own = pg.escapeIdentifier(this.schema);
    const { instance } = turn;
    const run = (text: string, values: readonly unknown[]) => this.sql.query(text, [...values]);
    await this.sql.query('begin');
    const events = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
    const started = events.find((event) => event['type'] === 'OrchestrationStarted');
    if (started) {
      const executionId = started['execution_id'];
      await run(
        `insert into ${own}.instances (instance_id, orchestration_name, orchestration_version, current_execution_id,
            parent_instance_id, created_at, updated_at) values ($1, $2, $3, $4, $5, now(), now())`,
        [instance, started['name'], started['version'], executionId, started['parent_instance']],
      );
      await run(
        `insert into ${own}.executions (instance_id, execution_id, status, started_at, duroxide_version_major,
            duroxide_version_minor, duroxide_version_patch) values ($1, $2, $3, now(), 0, 1, 30)`,
        [instance, executionId, statusOf(events)],
      );
      await run(
        `insert into ${own}.history (instance_id, execution_id, event_id, event_type, event_data, created_at)
          select $1, $2, (e.text::jsonb ->> 'event_id')::bigint, 'Event', e.text, now() from unnest($3::text[]) as e(text)`,
        [instance, executionId, texts],
      );
    }
    for (const [key, value, at] of turn.kvSnapshot) {
      await run(
        `insert into ${own}.kv_store (instance_id, key, value, execution_id, last_updated_at_ms)
          values ($1, $2, $3, 1, $4)`,
        [instance, key, value, at],
      );
    }
    await run(
      `insert into ${own}.orchestrator_queue (instance_id, work_item, visible_at, created_at, attempt_count)
        select $1, m.text, now() - interval '1 second', now(), $3 from unnest($2::text[]) with ordinality as m(text, n) order by m.n`,
      [instance, turn.messages.map((message) => JSON.stringify(message)), turn.attemptCount - 1],
    );
    await this.sql.query('commit');
  }
}

function statusOf(events: readonly Record<string, unknown>[]): string {
  for (const { type } of events) {
    if (type === 'OrchestrationCompleted') return 'Completed';
    if (type === 'OrchestrationFailed') return 'Failed';
    if (type === 'OrchestrationContinuedAsNew') return 'ContinuedAsNew';
  }
  return 'Running';
}

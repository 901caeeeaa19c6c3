import type pg from 'pg';
import type { FakeClock } from '../../src/base/clock.js';
import { activityItem, event, externalRaised, startedEvent } from '../../src/conformance/records.js';
import { ackOf } from '../../src/conformance/trial.js';
import { abandonOrchestrationItems } from '../../src/provider/drizzle/operations/abandon-orchestration-items.js';
import { ackOrchestrationItems } from '../../src/provider/drizzle/operations/ack-orchestration-items.js';
import { enqueueForOrchestrator } from '../../src/provider/drizzle/operations/enqueue-for-orchestrator.js';
import { fetchOrchestrationItems } from '../../src/provider/drizzle/operations/fetch-orchestration-items.js';
import { renewOrchestrationItemLocks } from '../../src/provider/drizzle/operations/renew-orchestration-item-locks.js';
import type { ProviderContext } from '../../src/provider/drizzle/context.js';
import type { AckOrchestrationItem, Result } from '../../src/provider/provider.js';
import { encodeEvent } from '../../src/wire/event.js';
import { encodeWorkItem } from '../../src/wire/work-item.js';
import { type InstanceAction, type InstanceState, LOCK_UNITS, type Owner } from './instance-model.js';

/** One unit of the model's time. */
export const UNIT_MS = 1_000;
const LOCK_MS = LOCK_UNITS * UNIT_MS;
/** Advisory keys know no schemas: no other test has an instance of this name. */
const INSTANCE = 'model-check';

/** What rows show of a state: everything but what workers have in memory. */
export type VisibleInstance = Pick<InstanceState, 'lock' | 'messages'>;

export function visibleInstance({ lock, messages }: InstanceState): VisibleInstance {
  return { lock, messages };
}

/** States of the model as rows, and its actions as real operations. */
export class InstanceRows {
  /** Tokens by who made them. */
  private tokens = new Map<string, Owner>();
  private commits = 0;

  constructor(
    private readonly client: pg.ClientBase,
    private readonly schema: string,
    private readonly clock: FakeClock,
  ) {}

  /** Puts a state into the tables, in place of whatever was there. */
  async place(state: InstanceState): Promise<void> {
    this.tokens = new Map([[tokenOf('gone'), 'gone' as const]]);
    state.workers.forEach((_, worker) => this.tokens.set(tokenOf(worker), worker));
    this.commits = 0;
    const { schema } = this;
    const now = this.clock.nowMs();
    const at = `to_timestamp(${now - 60_000} / 1000.0)`;
    const until = (left: number) => now + left * UNIT_MS;
    const statements = [
      ...['instance_locks', 'orchestrator_queue', 'worker_queue', 'instances', 'executions', 'history'].map(
        (table) => `delete from ${schema}.${table}`,
      ),
      // Equal runs have equal row ids.
      ...['orchestrator_queue', 'worker_queue'].map(
        (table) => `select setval(pg_get_serial_sequence('${schema}.${table}', 'id'), 1, false)`,
      ),
      `insert into ${schema}.instances (instance_id, orchestration_name, orchestration_version, current_execution_id, created_at, updated_at) values ('${INSTANCE}', 'O', '1.0.0', 1, ${at}, ${at})`,
      `insert into ${schema}.executions (instance_id, execution_id, status, started_at) values ('${INSTANCE}', 1, 'Running', ${at})`,
      `insert into ${schema}.history (instance_id, execution_id, event_id, event_type, event_data, created_at) values ('${INSTANCE}', 1, 1, 'OrchestrationStarted', '${encodeEvent(startedEvent(INSTANCE))}', ${at})`,
      ...state.messages.flatMap(({ is, by, left = 0 }, index) =>
        is === 'waiting'
          ? `insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at, lock_token, locked_until)
             values ('${INSTANCE}', '${encodeWorkItem(message(index))}', ${at}, ${at}, ${by === undefined ? 'null, null' : `'${tokenOf(by)}', ${until(left)}`})`
          : [],
      ),
      ...(state.turns === undefined ? [] : ACTIVITIES).map(
        (id) =>
          `insert into ${schema}.worker_queue (work_item, visible_at, created_at, lock_token, locked_until, instance_id, execution_id, activity_id)
           values ('${encodeWorkItem(activityItem(INSTANCE, id))}', ${at}, ${at}, '${workToken(id)}', ${until(LOCK_UNITS)}, '${INSTANCE}', 1, ${id})`,
      ),
      ...(state.lock
        ? [
            `insert into ${schema}.instance_locks values ('${INSTANCE}', '${tokenOf(state.lock.by)}', ${until(state.lock.left)}, ${now})`,
          ]
        : []),
    ];
    await this.client.query(statements.join(';'));
  }

  /** Does what the action says with the real operation, on behalf of a worker. */
  async perform(ctx: ProviderContext, action: InstanceAction): Promise<string> {
    switch (action.do) {
      case 'time':
        this.clock.advance(UNIT_MS);
        return 'passed';
      case 'crash':
        return 'gone';
      case 'send': {
        const [result] = await enqueueForOrchestrator(ctx, [{ item: message(action.message) }]);
        if (!result?.ok) throw result?.error ?? new Error('no answer');
        return 'sent';
      }
      case 'fetch': {
        const { items, lost } = await fetchOrchestrationItems(ctx, { limit: 1, lockTimeoutMs: LOCK_MS });
        const [item] = items;
        if (!item) return lost > 0 ? 'busy' : 'nothing';
        this.tokens.set(item.lockToken, action.worker);
        return `messages ${item.messages.map((sent) => (sent.kind === 'ExternalRaised' ? sent.data : '?')).join()}`;
      }
      case 'ack':
        return answerOf(await ackOrchestrationItems(ctx, [this.turnOf(this.lockOf(action.worker), action.worker)]));
      case 'direct': {
        const { activity } = action;
        const turn = this.turnOf({ instance: INSTANCE, lockToken: 'direct' }, activity);
        const direct = { workTokens: [workToken(activity)], lastEventId: 1 };
        const answer = answerOf(await ackOrchestrationItems(ctx, [{ ...turn, direct }]));
        return answer === 'ok' ? 'ok' : 'refused';
      }
      case 'renew':
        return answerOf(await renewOrchestrationItemLocks(ctx, [{ ...this.lockOf(action.worker), extendMs: LOCK_MS }]));
      case 'abandon':
        return answerOf(await abandonOrchestrationItems(ctx, [this.lockOf(action.worker)]));
    }
  }

  /** What the rows show now. `after` says which workers still know their token, and which messages are to come. */
  async visible(after: InstanceState): Promise<VisibleInstance> {
    const { rows } = await this.client.query<{
      kind: string;
      item: string;
      token: string | null;
      until: string | null;
    }>(
      `select 'lock' as kind, instance_id as item, lock_token as token, locked_until as until from ${this.schema}.instance_locks
       union all select 'message', work_item, lock_token, locked_until from ${this.schema}.orchestrator_queue`,
    );
    const now = this.clock.nowMs();
    const left = (until: string | null) => Math.max(0, Math.ceil((Number(until) - now) / UNIT_MS));
    const owner = (token: string): Owner => {
      const by = this.tokens.get(token) ?? 'gone';
      return by !== 'gone' && after.workers[by] === null ? 'gone' : by;
    };
    const [lock] = rows.filter(({ kind }) => kind === 'lock');
    return {
      lock: lock ? { by: owner(lock.token ?? ''), left: left(lock.until) } : null,
      messages: after.messages.map(({ is }, index) => {
        const row = rows.find(({ kind, item }) => kind === 'message' && item === encodeWorkItem(message(index)));
        if (!row) return { is: is === 'later' ? 'later' : 'done' };
        return row.token === null ? { is: 'waiting' } : { is: 'waiting', by: owner(row.token), left: left(row.until) };
      }),
    };
  }

  /** How many turns history shows. */
  async turns(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      `select count(*)::int as n from ${this.schema}.history where event_id >= 100`,
    );
    return rows[0]?.n ?? 0;
  }

  private turnOf(
    lock: { readonly instance: string; readonly lockToken: string },
    status: number,
  ): AckOrchestrationItem {
    const eventId = 100 + this.commits++;
    return ackOf(lock, {
      historyDelta: [event(INSTANCE, eventId, { kind: 'CustomStatusUpdated', status: `${status}` })],
    });
  }

  private lockOf(worker: number): { readonly instance: string; readonly lockToken: string } {
    const mine = [...this.tokens].filter(([, owner]) => owner === worker).map(([token]) => token);
    return { instance: INSTANCE, lockToken: mine.at(-1) ?? tokenOf(worker) };
  }
}

/** Activities that whoever runs a direct turn holds. */
const ACTIVITIES = [2, 3];

function workToken(activity: number): string {
  return `lock_work:${activity}`;
}

function message(index: number) {
  return externalRaised(INSTANCE, 'e', String(index));
}

/** As long as a real one, so that whatever reads the instance out of it finds it. */
function tokenOf(by: Owner): string {
  return `lock_${String(by).padEnd(36, '0')}:${INSTANCE}`;
}

function answerOf([result]: readonly Result[]): string {
  if (result === undefined) throw new Error('no answer');
  if (result.ok) return 'ok';
  if (result.error.sqlState !== undefined || result.error.retryable) throw result.error;
  return 'lost';
}

import type pg from 'pg';
import type { FakeClock } from '../../src/base/clock.js';
import { activityCompleted, activityItem } from '../../src/conformance/records.js';
import { abandonWorkItems } from '../../src/provider/drizzle/operations/abandon-work-items.js';
import { ackWorkItems } from '../../src/provider/drizzle/operations/ack-work-items.js';
import { enqueueForWorker } from '../../src/provider/drizzle/operations/enqueue-for-worker.js';
import { fetchWorkItems } from '../../src/provider/drizzle/operations/fetch-work-items.js';
import { renewWorkItemLocks } from '../../src/provider/drizzle/operations/renew-work-item-locks.js';
import type { ProviderContext } from '../../src/provider/drizzle/context.js';
import type { Result } from '../../src/provider/provider.js';
import { encodeWorkItem } from '../../src/wire/work-item.js';
import { LOCK_UNITS, type Owner } from './instance-model.js';
import { UNIT_MS } from './instance-rows.js';
import type { WorkAction, WorkState } from './work-model.js';

const LOCK_MS = LOCK_UNITS * UNIT_MS;
const INSTANCE = 'i';

export interface VisibleWork {
  readonly rows: WorkState['rows'];
  /** Completions that were recorded. */
  readonly completions: number;
}

export function visibleWork({ rows }: WorkState): VisibleWork {
  return { rows, completions: rows.filter(({ is }) => is === 'done').length };
}

/** States of the model as rows, and its actions as real operations. */
export class WorkRows {
  private tokens = new Map<string, Owner>();
  private held: (number | undefined)[] = [];

  constructor(
    private readonly client: pg.ClientBase,
    private readonly schema: string,
    private readonly clock: FakeClock,
  ) {}

  async place(state: WorkState): Promise<void> {
    this.tokens = new Map([[tokenOf('gone'), 'gone' as const]]);
    state.workers.forEach((_, worker) => this.tokens.set(tokenOf(worker), worker));
    this.held = state.workers.map((worker) => worker?.row);
    const { schema } = this;
    const now = this.clock.nowMs();
    const at = `to_timestamp(${now - 60_000} / 1000.0)`;
    const statements = [
      ...['worker_queue', 'orchestrator_queue'].map((table) => `delete from ${schema}.${table}`),
      ...state.rows.flatMap(({ is, by, left = 0 }, row) =>
        is === 'waiting'
          ? `insert into ${schema}.worker_queue (work_item, visible_at, created_at, instance_id, execution_id, activity_id, lock_token, locked_until)
             values ('${encodeWorkItem(activityItem(INSTANCE, row))}', ${at}, ${at}, '${INSTANCE}', 1, ${row},
               ${by === undefined ? 'null, null' : `'${tokenOf(by)}', ${now + left * UNIT_MS}`})`
          : [],
      ),
      ...state.rows.flatMap(({ is }, row) =>
        is === 'done'
          ? `insert into ${schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at)
             values ('${INSTANCE}', '${encodeWorkItem(activityCompleted(INSTANCE, row))}', ${at}, ${at})`
          : [],
      ),
    ];
    await this.client.query(statements.join(';'));
  }

  async perform(ctx: ProviderContext, action: WorkAction): Promise<string> {
    switch (action.do) {
      case 'time':
        this.clock.advance(UNIT_MS);
        return 'passed';
      case 'crash':
        return 'gone';
      case 'schedule':
        await enqueueForWorker(ctx, [activityItem(INSTANCE, action.row)]);
        return 'scheduled';
      case 'cancel':
        // What the acknowledgement of a turn does to an activity that it cancels.
        await this.client.query(`delete from ${this.schema}.worker_queue where activity_id = $1`, [action.row]);
        return 'cancelled';
      case 'fetch': {
        const [taken] = await fetchWorkItems(ctx, {
          limit: 1,
          lockTimeoutMs: LOCK_MS,
          tagFilter: { kind: 'defaultOnly' },
        });
        if (!taken || taken.item.kind !== 'ActivityExecute') return 'nothing';
        this.tokens.set(taken.lockToken, action.worker);
        this.held[action.worker] = taken.item.id;
        return `row ${taken.item.id}`;
      }
      case 'ack':
        return answerOf(
          await ackWorkItems(ctx, [
            { ...this.lockOf(action.worker), completion: activityCompleted(INSTANCE, this.held[action.worker] ?? 0) },
          ]),
        );
      case 'renew':
        return answerOf(await renewWorkItemLocks(ctx, [{ ...this.lockOf(action.worker), extendMs: LOCK_MS }]));
      case 'abandon':
        return answerOf(await abandonWorkItems(ctx, [this.lockOf(action.worker)]));
    }
  }

  /** `after` says which workers still know their token, and how rows that are gone have gone. */
  async visible(after: WorkState): Promise<VisibleWork> {
    const { rows } = await this.client.query<{ id: string | null; token: string | null; until: string | null }>(
      `select activity_id as id, lock_token as token, locked_until as until from ${this.schema}.worker_queue
       union all select null, null, null from ${this.schema}.orchestrator_queue`,
    );
    const now = this.clock.nowMs();
    const owner = (token: string): Owner => {
      const by = this.tokens.get(token) ?? 'gone';
      return by !== 'gone' && after.workers[by] === null ? 'gone' : by;
    };
    return {
      completions: rows.filter(({ id }) => id === null).length,
      rows: after.rows.map(({ is }, index) => {
        const row = rows.find(({ id }) => Number(id) === index && id !== null);
        if (!row) return { is: is === 'waiting' ? 'done' : is };
        if (row.token === null) return { is: 'waiting' };
        return {
          is: 'waiting',
          by: owner(row.token),
          left: Math.max(0, Math.ceil((Number(row.until) - now) / UNIT_MS)),
        };
      }),
    };
  }

  private lockOf(worker: number): { readonly instance: string; readonly lockToken: string } {
    const mine = [...this.tokens].filter(([, owner]) => owner === worker).map(([token]) => token);
    return { instance: INSTANCE, lockToken: mine.at(-1) ?? tokenOf(worker) };
  }
}

function tokenOf(by: Owner): string {
  return `lock_${String(by).padEnd(36, '0')}:1`;
}

function answerOf([result]: readonly Result[]): string {
  if (result === undefined) throw new Error('no answer');
  if (result.ok) return 'ok';
  if (result.error.sqlState !== undefined || result.error.retryable) throw result.error;
  return 'lost';
}

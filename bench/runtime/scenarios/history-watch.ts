import pg from 'pg';
import type { Bench } from '../bench.js';
import type { EngineName } from '../engines.js';

/** What one step costs, on average over a part of the history. */
export interface StepCost {
  /** Without the slowest and the fastest tenth: a checkpoint is not a matter of length. */
  readonly ms: number;
  /** That statements returned or wrote. */
  readonly rows: number;
  /** Pages that statements looked at. */
  readonly buffers: number;
}

/** Activities in a row in one execution, and which of them are compared. */
export interface Chain {
  readonly engine: EngineName;
  readonly steps: number;
  /** So many steps are left out at the beginning. */
  readonly after: number;
  /** So many are compared then, with as many at the end. */
  readonly part: number;
}

export interface HistoryWatch {
  /** Ends it, when the instance has completed. */
  costs(): Promise<{ first: StepCost; last: StepCost }>;
}

interface Look {
  /** Activities that the history holds. */
  readonly steps: number;
  readonly rows: number;
  readonly buffers: number;
}

const EVERY_MS = 10;
/**
 * What grows with the time since the last vacuum, and not with a history. Vacuumed before each of
 * the two parts, which are so far apart that autovacuum would come to one of them only.
 */
const QUEUES = ['orchestrator_queue', 'worker_queue', 'instance_locks'];
/** In its own statement, so that it is not counted. */
const MARK = 'bench_look';

/** Looks at an instance of activities in a row while it runs, on a connection of its own. */
export function watchHistory(
  bench: Bench,
  schema: string,
  instance: string,
  { steps, after, part }: Pick<Chain, 'steps' | 'after' | 'part'>,
): HistoryWatch {
  const looks: Look[] = [];
  let isOver = false;
  const watching = (async () => {
    const client = new pg.Client({ connectionString: bench.server.url });
    await client.connect();
    const vacuumAt = [0, steps - part * 1.5];
    try {
      while (!isOver) {
        await sleep(EVERY_MS);
        const look = await lookAt(client, schema, instance);
        if (look && look.steps >= (vacuumAt[0] ?? Infinity)) {
          vacuumAt.shift();
          await vacuumQueues(client, schema);
        }
        const nearAnEdge = look && (look.steps <= after + part * 1.5 || look.steps >= steps - part * 1.5);
        if (nearAnEdge) looks.push(look);
        // The middle needs no looks, and each one costs the server something.
        else if (look) await sleep(200);
      }
    } finally {
      await client.end();
    }
  })();
  // Whoever asks for the costs meets the failure.
  watching.catch(() => undefined);
  return {
    async costs() {
      isOver = true;
      await watching;
      const times = await stepTimes(bench, schema, instance);
      return {
        first: { ms: trimmedMean(times.slice(after, after + part)), ...readsBetween(looks, after + 1, after + part) },
        last: { ms: trimmedMean(times.slice(-part)), ...readsBetween(looks, steps - part, steps) },
      };
    },
  };
}

/** What it reads is not counted. */
async function vacuumQueues(client: pg.Client, schema: string): Promise<void> {
  for (const table of QUEUES) await client.query(`/* ${MARK} */ vacuum (truncate off) ${schema}.${table}`);
}

async function lookAt(client: pg.Client, schema: string, instance: string): Promise<Look | undefined> {
  const exists = await client.query<{ oid: string | null }>(`/* ${MARK} */ select to_regclass($1)::text as oid`, [
    `${schema}.history`,
  ]);
  if (exists.rows[0]?.oid == null) return undefined;
  const { rows } = await client.query<Record<'events' | 'read' | 'buffers', string>>(
    `/* ${MARK} */ select coalesce((select max(event_id) from ${schema}.history where instance_id = $1 and execution_id = 1), 0)::text as events,
      sum(rows)::text as read, sum(shared_blks_hit + shared_blks_read)::text as buffers
      from pg_stat_statements where query not like '%${MARK}%'`,
    [instance],
  );
  const [row] = rows;
  const events = Number(row?.events ?? 0);
  // The start, and two events for each step.
  return { steps: Math.floor((events - 1) / 2), rows: Number(row?.read), buffers: Number(row?.buffers) };
}

function readsBetween(looks: readonly Look[], from: number, to: number): Pick<StepCost, 'rows' | 'buffers'> {
  const begin = looks.find(({ steps }) => steps >= from);
  const end = looks.findLast(({ steps }) => steps <= to && steps > (begin?.steps ?? 0));
  if (!begin || !end) return { rows: NaN, buffers: NaN };
  const steps = end.steps - begin.steps;
  return { rows: (end.rows - begin.rows) / steps, buffers: (end.buffers - begin.buffers) / steps };
}

/** Of each step in ms, by the stamps of the outcomes in the history. */
async function stepTimes(bench: Bench, schema: string, instance: string): Promise<number[]> {
  const { rows } = await bench.control.query<{ at: string }>(
    `select event_data::json ->> 'timestamp_ms' as at from ${schema}.history
      where instance_id = $1 and event_data like '%"type":"ActivityCompleted"%' order by event_id`,
    [instance],
  );
  const at = rows.map((row) => Number(row.at));
  return at.slice(1).map((ms, n) => ms - (at[n] ?? NaN));
}

function trimmedMean(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const cut = Math.floor(sorted.length / 10);
  const kept = sorted.slice(cut, sorted.length - cut);
  return kept.reduce((sum, each) => sum + each, 0) / kept.length;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

import pg from 'pg';
import { type Contestant, type FetchedItem, LOCK_TIMEOUT_MS } from './contestant.js';
import { nextStep } from './next-step.js';

interface FunctionItem extends FetchedItem {
  readonly lockToken: string;
  readonly executionId: number;
}

interface Row {
  readonly out_instance_id: string;
  readonly out_execution_id: string;
  readonly out_history: readonly unknown[];
  readonly out_messages: readonly unknown[];
  readonly out_lock_token: string;
}

/** 0.0.0 to 0.1.30, packed as the function takes them. */
const VERSIONS = { min: 0, max: 1_030 };

/**
 * `fetch_orchestration_item` and `ack_orchestration_item`, called as cheaply as can be:
 * one named statement each on a pool, nothing around it. Whose functions they are, the
 * schema decides.
 */
export function storedFunctionContestant(name: string, schema: Contestant['schema']): Contestant {
  return {
    name,
    schema,
    limit: 1,
    async open(url, schemaName, connections) {
      const pool = new pg.Pool({ connectionString: url, max: connections });
      const own = pg.escapeIdentifier(schemaName);
      const parameters = [Array(4), Array(8)].map((list) => Array.from(list, (_, i) => `$${i + 1}`).join(', '));
      return {
        async fetch(withVersionFilter): Promise<FunctionItem[]> {
          const { rows } = await pool.query<Row>({
            name: `fetch_${schemaName}`,
            text: `select * from ${own}.fetch_orchestration_item(${parameters[0]})`,
            values: [
              Date.now(),
              LOCK_TIMEOUT_MS,
              withVersionFilter ? VERSIONS.min : null,
              withVersionFilter ? VERSIONS.max : null,
            ],
          });
          return rows.map((row) => ({
            instance: row.out_instance_id,
            events: row.out_history.length,
            lockToken: row.out_lock_token,
            executionId: Number(row.out_execution_id),
          }));
        },
        async ack(items) {
          for (const item of items as readonly FunctionItem[]) {
            const step = nextStep(item.instance);
            await pool.query({
              name: `ack_${schemaName}`,
              text: `select ${own}.ack_orchestration_item(${parameters[1]})`,
              values: [
                item.lockToken,
                Date.now(),
                item.executionId,
                JSON.stringify(step.events),
                JSON.stringify(step.workerItems),
                '[]',
                '{}',
                '[]',
              ],
            });
          }
        },
        close: () => pool.end(),
      };
    },
  };
}

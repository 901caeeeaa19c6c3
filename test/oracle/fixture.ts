import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import type { RecordedTurn } from './turn-recorder.js';

/** What native did in one scenario: the file `fixtures/<scenario>.json`, written by `record.ts`. */
export interface RecordedScenario {
  readonly scenario: string;
  readonly about: string;
  /** Native's core and provider. */
  readonly recordedWith: { readonly core: string; readonly provider: string };
  /** Every turn, in the order in which native committed them. */
  readonly turns: readonly RecordedTurn[];
  /** Stored event texts by instance and execution, as they stand at the end. */
  readonly histories: readonly RecordedHistory[];
}

export interface RecordedHistory {
  readonly instance: string;
  readonly executionId: number;
  readonly status: string;
  readonly output: string | null;
  readonly events: readonly string[];
}

export const FIXTURES_DIR = path.resolve('test/oracle/fixtures');

/** Rows of a schema that native filled and left in the middle of its work, by table; see `filled-schema.ts`. */
export const FILLED_SCHEMA_FILE = path.join(FIXTURES_DIR, 'filled-schema', 'rows.json');

/** All recorded scenarios, by name. */
export function loadRecordedScenarios(): RecordedScenario[] {
  return readdirSync(FIXTURES_DIR)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(path.join(FIXTURES_DIR, file), 'utf8')) as RecordedScenario);
}

/** Events of the turn's execution that were stored before the turn. */
export function historyBefore(recorded: Pick<RecordedScenario, 'turns'>, turn: RecordedTurn): string[] {
  const events: string[] = [];
  for (const earlier of recorded.turns) {
    if (earlier === turn) return events;
    if (earlier.instance === turn.instance && earlier.executionId === turn.executionId) events.push(...earlier.events);
  }
  throw new Error('the turn is not one of the recorded ones');
}

/**
 * The history that a fetch loaded for a turn, as it stands at the end (a scenario may
 * damage it): that of the turn's execution, or for the first turn after continue-as-new
 * that of the execution before.
 */
export function historyAtFetch(recorded: Pick<RecordedScenario, 'turns' | 'histories'>, turn: RecordedTurn): string[] {
  const written = new Map<number, number>();
  for (const earlier of recorded.turns) {
    if (earlier === turn) break;
    if (earlier.instance !== turn.instance) continue;
    written.set(earlier.executionId, (written.get(earlier.executionId) ?? 0) + earlier.events.length);
  }
  const executionId = written.has(turn.executionId) ? turn.executionId : turn.executionId - 1;
  const history = recorded.histories.find(
    (candidate) => candidate.instance === turn.instance && candidate.executionId === executionId,
  );
  return history?.events.slice(0, written.get(executionId) ?? 0) ?? [];
}

/** The stored histories of a schema, as they stand now. */
export async function readHistories(client: pg.ClientBase, schema: string): Promise<RecordedHistory[]> {
  const own = pg.escapeIdentifier(schema);
  const { rows } = await client.query<RecordedHistory>(`
    select e.instance_id as instance, e.execution_id::int as "executionId", e.status, e.output,
        array(select h.event_data from ${own}.history h
          where h.instance_id = e.instance_id and h.execution_id = e.execution_id order by h.event_id) as events
      from ${own}.executions e order by e.instance_id collate "C", e.execution_id`);
  return rows;
}

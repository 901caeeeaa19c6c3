import { createFunctionStatement, storedFunctions } from '../../../schema/functions/index.js';
import type { Migration } from '../../../schema/migration.js';
import { notifyChannel } from '../../../schema/notify-channel.js';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import type { ExpectedIndex } from './expected-objects.js';

/** How `ddz_migrations` records what was added to a schema beside its base tables. */
export const additionNames = {
  indexes: 'adopt_indexes',
  notifyTriggers: 'notify_triggers',
  storedFunctions: 'stored_functions',
  handOver: 'handed_over_to_native',
} as const;

/**
 * The part of a migration that an adopted schema may take: what makes or changes
 * tables of our own name. Indexes of ours on native's tables are built concurrently.
 */
export function ownTableStatements({ statements }: Migration): readonly string[] {
  return statements.filter((statement) => /^(CREATE TABLE|ALTER TABLE|CREATE (?:UNIQUE )?INDEX "\w+" ON) "ddz_/.test(statement));
}

/** Builds an index without locking writers out. Must stand alone, outside a transaction. */
export function createIndexConcurrently(schema: string, { name, table, keys, where }: ExpectedIndex): string {
  const on = `${quoteSchemaName(schema)}."${table}"`;
  return `create index concurrently if not exists "${name}" on ${on} using btree (${keys.join(', ')})${where ? ` where ${where}` : ''}`;
}

/** Removes an index without locking writers out. Must stand alone, outside a transaction. */
export function dropIndexConcurrently(schema: string, name: string): string {
  return `drop index concurrently if exists ${quoteSchemaName(schema)}."${name}"`;
}

/**
 * Statement-level triggers that tell our listeners about rows which somebody enqueues
 * without notifying, such as a native worker. Only rows due now notify: sleepers find
 * delayed ones by their time. The second of tolerance covers clocks that differ.
 */
export function notifyTriggerStatements(schema: string): string[] {
  const quoted = quoteSchemaName(schema);
  const trigger = (table: string, payload: string) =>
    `create or replace trigger ddz_notify after insert on ${quoted}."${table}" ` +
    `referencing new table as inserted for each statement execute function ${quoted}.ddz_notify('${payload}')`;
  return [
    `create or replace function ${quoted}.ddz_notify() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $ddz$
begin
  if exists (select from inserted where visible_at <= clock_timestamp() + interval '1 second') then
    perform pg_notify('${notifyChannel(schema)}', tg_argv[0]);
  end if;
  return null;
end
$ddz$`,
    // In the order in which turns write: the other way round the two would wait for each other.
    trigger('worker_queue', 'w'),
    trigger('orchestrator_queue', 'o'),
  ];
}

/** Creates or updates our stored functions, all of them. */
export function storedFunctionStatements(schema: string): string[] {
  return storedFunctions(schema).map((stored) => createFunctionStatement(quoteSchemaName(schema), stored));
}

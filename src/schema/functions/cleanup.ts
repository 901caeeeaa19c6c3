import { selectOwnFunctions } from './ownership.js';
import type { FunctionFamily } from './stored-function.js';

/**
 * Drops what the other functions work on, and the functions; the last one is the one that
 * runs. A function of the application's that has one of their names stays.
 */
export const cleanup =
  (others: {
    readonly schema: string;
    readonly tables: readonly string[];
    readonly functions: readonly string[];
  }): FunctionFamily =>
  (s) => [
    {
      name: 'cleanup_schema',
      args: [],
      returns: 'void',
      body: `
declare
  v_function text;
begin
  for v_function in
    ${selectOwnFunctions(others.schema, others.functions)}
  loop
    execute 'drop function ' || v_function;
  end loop;
  drop table if exists ${others.tables.map((table) => `${s}.${table}`).join(', ')} cascade;
  drop function if exists ${s}.ddz_notify() cascade;
  drop function if exists ${s}.cleanup_schema();
end`,
    },
  ];

import type { FunctionFamily } from './stored-function.js';

/** Drops what the other functions work on, and the functions; the last one is the one that runs. */
export const cleanup =
  (others: { readonly tables: readonly string[]; readonly functions: readonly string[] }): FunctionFamily =>
  (s) => [
    {
      name: 'cleanup_schema',
      args: [],
      returns: 'void',
      body: `
begin
  drop table if exists ${others.tables.map((table) => `${s}.${table}`).join(', ')} cascade;
  drop function if exists ${s}.ddz_notify() cascade;
  drop function if exists
    ${others.functions.map((signature) => `${s}.${signature}`).join(',\n    ')};
  drop function if exists ${s}.cleanup_schema();
end`,
    },
  ];

/**
 * `duroxide-drizzle/schema`: the tables, for queries of your own and for joins with
 * your application's tables. Reading is always safe; writing belongs to the provider.
 */
export { type DuroxideTables, defineSchema } from './tables.js';

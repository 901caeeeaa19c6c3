import type { pgTable } from 'drizzle-orm/pg-core';

/** What makes a table: `pgTable` for drizzle-kit, `new PgSchema(name).table` for queries. */
export type TableFactory = typeof pgTable;

import { type SQL, sql } from 'drizzle-orm';

/**
 * A condition in a form that no index can serve. `visible_at <= now` holds for nearly
 * every row that a queue ever had: an index on it, dead entries included, is the worst
 * way to rows that another condition names, yet on a small table the planner takes it.
 */
export function unindexed(condition: SQL): SQL {
  return sql`coalesce(${condition}, false)`;
}

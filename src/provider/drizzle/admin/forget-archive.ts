import { sql } from 'drizzle-orm';
import { quoteSchemaName } from '../../../schema/schema-name.js';
import type { ProviderContext } from '../context.js';
import type { Transaction } from '../executor.js';
import { booleanCell, noRow } from '../statement.js';

/** Whether the schema has the archive of resets; one that native made has it on request only. */
export async function hasArchive(ctx: ProviderContext, tx: Transaction): Promise<boolean> {
  const statement = ctx.statement(
    'archive: is it there',
    () => sql`select to_regclass(${sql.placeholder('table')}::text) is not null`,
    ([is]) => booleanCell(is),
  );
  const [is] = await tx.run(statement, { table: `${quoteSchemaName(ctx.schema)}.ddz_history_archive` });
  return is === true;
}

/** What resets archived of these instances goes with them. Only where {@link hasArchive}. */
export async function forgetArchive(ctx: ProviderContext, tx: Transaction, instances: readonly string[]): Promise<void> {
  const statement = ctx.statement(
    'archive: forget',
    () => sql`delete from ${ctx.ownTables.historyArchive} where instance_id = any(${sql.placeholder('instances')}::text[])`,
    noRow,
  );
  await tx.run(statement, { instances });
}

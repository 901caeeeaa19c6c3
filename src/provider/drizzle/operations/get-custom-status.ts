import { sql } from 'drizzle-orm';
import type { ProviderContext } from '../context.js';
import { integerCell } from '../statement.js';
import { readStatement } from '../transaction.js';

export interface CustomStatus {
  /** `null` when it was cleared. */
  readonly status: string | null;
  readonly version: number;
}

/** The custom status if its version is above `lastSeenVersion`, otherwise `null`. */
export async function getCustomStatus(
  ctx: ProviderContext,
  instance: string,
  lastSeenVersion: number,
): Promise<CustomStatus | null> {
  const statement = ctx.statement(
    'get custom status',
    () => sql`select custom_status, custom_status_version from ${ctx.tables.instances}
      where instance_id = ${sql.placeholder('instance')}
        and custom_status_version > ${sql.placeholder('lastSeenVersion')}::bigint`,
    ([status, version]): CustomStatus => ({ status: status ?? null, version: integerCell(version) }),
  );
  const [row] = await readStatement(ctx, 'get_custom_status', statement, { instance, lastSeenVersion });
  return row ?? null;
}

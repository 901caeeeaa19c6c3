import { integer, PgSchema, text } from 'drizzle-orm/pg-core';
import { eq, sql } from 'drizzle-orm';
import { activity } from '../../src/typed/definitions.js';

/** The application's tables of the failpoint test. */
export function applicationTables(schema: string) {
  const { table } = { table: new PgSchema(schema).table };
  return {
    accounts: table('accounts', { name: text('name').primaryKey(), cents: integer('cents').notNull() }),
    payments: table('payments', { account: text('account').notNull(), cents: integer('cents').notNull() }),
  };
}

/** Takes money from an account and notes it: two statements that must happen together, and once. */
export function payment(schema: string) {
  const { accounts, payments } = applicationTables(schema);
  return activity.transactional('pay', async (_ctx, tx, account: string) => {
    await tx
      .update(accounts)
      .set({ cents: sql`${accounts.cents} - 10` })
      .where(eq(accounts.name, account));
    await tx.insert(payments).values({ account, cents: 10 });
    return 'paid';
  });
}

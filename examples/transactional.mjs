// Rows of the application and steps of an orchestration in one transaction: an order and
// the start of its orchestration are committed together, and so are the payment and the
// completion of the activity that books it.
//
//     node examples/transactional.mjs
import { activity, Client, DrizzleProvider, orchestration, Runtime } from 'duroxide-drizzle';
import { sql } from 'drizzle-orm';
import { newId } from './store.mjs';

const url = process.env.DATABASE_URL;
const { db, close } = await (url ? postgres(url) : embedded());
const provider = await DrizzleProvider.fromDrizzle(db, { schema: 'duroxide_examples' });
await db.execute(sql`create table if not exists duroxide_examples.orders (id text primary key)`);
await db.execute(sql`create table if not exists duroxide_examples.payments (order_id text, cents int)`);

const pay = activity.transactional('Pay', async (ctx, tx, order) => {
  await tx.execute(sql`insert into duroxide_examples.payments values (${order.id}, ${order.cents})`);
  if (order.cents > 1_000) throw new Error('too much');
  return order.cents;
});
const checkout = orchestration('Checkout', async (ctx, order) => {
  try {
    return `paid ${await ctx.call(pay, order)}`;
  } catch {
    return 'not paid';
  }
});

const runtime = new Runtime(provider);
runtime.register(pay, checkout);
await runtime.start();
const client = new Client(provider);

for (const cents of [100, 5_000]) {
  const id = newId('order');
  const handle = await db.transaction(async (tx) => {
    await tx.execute(sql`insert into duroxide_examples.orders values (${id})`);
    return client.withTransaction(tx).start(checkout, { id, cents }, { id });
  });
  const { rows } = await rowsOf(handle);
  console.log(`${id}: ${await handle.result()}, ${rows.length} payments`);
}

const abandoned = newId('order');
await db
  .transaction(async (tx) => {
    await client.withTransaction(tx).start(checkout, { id: abandoned, cents: 1 }, { id: abandoned });
    throw new Error('changed my mind');
  })
  .catch((error) => console.log(`${abandoned}: ${error.message}, so it was never started`));

await runtime.shutdown();
await provider.close();
await close();

/** The payments of an order, when its orchestration has ended. */
async function rowsOf(handle) {
  await handle.result();
  return db.execute(sql`select * from duroxide_examples.payments where order_id = ${handle.id}`);
}

async function postgres(connectionString) {
  const { default: pg } = await import('pg');
  const { drizzle } = await import('drizzle-orm/node-postgres');
  const pool = new pg.Pool({ connectionString });
  return { db: drizzle(pool), close: () => pool.end() };
}

async function embedded() {
  const { PGlite } = await import('@electric-sql/pglite');
  const { drizzle } = await import('drizzle-orm/pglite');
  const client = await PGlite.create();
  return { db: drizzle(client), close: () => client.close() };
}

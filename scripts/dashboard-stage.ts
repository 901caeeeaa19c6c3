/**
 * A store with the life of a small shop in it, for the pictures of the dashboard: an hour of
 * orders, invoices and imports, done by the real runtime on an embedded PGlite. The hour
 * passes on a clock of its own; then the runtime goes on in real time.
 */
import { FakeClock, sleepReal } from '../src/base/clock.js';
import { silentLogger } from '../src/base/logger.js';
import { DrizzleProvider } from '../src/provider/drizzle/drizzle-provider.js';
import type { OrchestrationContext } from '../src/runtime/generator/orchestration-context.js';
import { declareOrchestration } from '../src/typed/definitions.js';
import { SteppedRuntime } from '../test/support/runtime-harness.js';

const PAST_MS = 55 * 60_000;
/** Activities take so much longer once time is real: they are to be seen while they run. */
const SLOWNESS = 40;

/** Stands still but for what a step takes, until it is released; then it is the real time. */
class StageClock extends FakeClock {
  private releasedAtMs: number | undefined;

  override nowMs(): number {
    return super.nowMs() + (this.releasedAtMs === undefined ? 0 : Date.now() - this.releasedAtMs);
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.releasedAtMs === undefined ? super.sleep(ms, signal) : sleepReal(ms, signal);
  }

  release(): void {
    this.releasedAtMs = Date.now();
  }

  /** Some work that takes about so long. */
  async work(ms: number): Promise<void> {
    const actualMs = Math.round(ms * (0.7 + Math.random() * 0.6));
    if (this.releasedAtMs === undefined) this.advance(actualMs);
    else await this.sleep(actualMs * SLOWNESS);
  }
}

export interface Stage {
  readonly provider: DrizzleProvider;
  close(): Promise<void>;
}

/** Opens the store, lets the hour pass, and leaves some instances under way. */
export async function openStage(): Promise<Stage> {
  const clock = new StageClock(Date.now() - PAST_MS);
  const provider = await DrizzleProvider.embedded({ clock, logger: silentLogger });
  const runtime = new SteppedRuntime(provider, clock, shop(clock));
  await schedule(runtime);
  await trade(runtime, clock);
  clock.release();
  await queueUp(runtime);
  runtime.startLoops();
  for (const order of [10_907, 10_908])
    await runtime.client.startOrchestration(`order-${order}`, 'Fulfil', orderOf(order));
  return {
    provider,
    close: async () => {
      await runtime.stop();
      await provider.close();
    },
  };
}

interface Order {
  readonly order: number;
  readonly customer: string;
  readonly items: readonly { readonly sku: string; readonly quantity: number; readonly price: number }[];
}

function shop(clock: StageClock) {
  const attempts = new Map<number, number>();
  const retry = { maxAttempts: 4, backoff: 'fixed' };
  const activities = {
    ReserveStock: async (_ctx: unknown, order: Order) => {
      await clock.work(2_600);
      return { reserved: order.items.length, warehouse: 'north-2' };
    },
    ChargeCard: async (_ctx: unknown, { order, items }: Order) => {
      await clock.work(3_200);
      const attempt = (attempts.get(order) ?? 0) + 1;
      attempts.set(order, attempt);
      if (order % 9 === 4) throw new Error('card declined: insufficient funds');
      if (order % 5 === 3 && attempt < 3) throw new Error('payment gateway: 503 Service Unavailable');
      return { charged: items.reduce((sum, item) => sum + item.price * item.quantity, 0), currency: 'EUR', attempt };
    },
    PackParcel: async () => {
      await clock.work(5_400);
      return { parcel: 'M', weightKg: 2.4 };
    },
    BookCourier: async () => {
      await clock.work(1_900);
      return { courier: 'velo', pickup: '17:30' };
    },
    SendEmail: async () => {
      await clock.work(900);
      return { sent: true };
    },
    RenderInvoice: async () => {
      await clock.work(2_100);
      return { pages: 2, bytes: 48_213 };
    },
  };
  const orchestrations = {
    *Fulfil(ctx: OrchestrationContext, order: Order) {
      ctx.setCustomStatus('reserving');
      ctx.setValue('order', JSON.stringify({ number: order.order, customer: order.customer }));
      yield ctx.scheduleActivity('ReserveStock', order);
      ctx.setCustomStatus('charging');
      let payment: unknown;
      try {
        payment = yield ctx.scheduleActivityWithRetry('ChargeCard', order, retry);
      } catch {
        throw withoutStack('the card was declined: insufficient funds');
      }
      ctx.setValue('payment', JSON.stringify(payment));
      ctx.setCustomStatus('packing');
      yield ctx.all([
        ctx.scheduleActivity('PackParcel', order),
        ctx.scheduleActivity('BookCourier', order),
        ctx.scheduleSubOrchestration('Invoice', { order: order.order }),
      ]);
      ctx.setCustomStatus('waiting for the courier');
      yield ctx.scheduleTimer(20_000);
      const pickup: unknown = yield ctx.waitForEvent('picked-up');
      ctx.setCustomStatus('on its way');
      yield ctx.scheduleActivity('SendEmail', { to: order.customer, template: 'on-its-way' });
      return { order: order.order, pickup };
    },
    *Invoice(ctx: OrchestrationContext, input: { order: number }) {
      const pdf: unknown = yield ctx.scheduleActivity('RenderInvoice', input);
      yield ctx.scheduleActivity('SendEmail', { order: input.order, template: 'invoice' });
      return pdf;
    },
    *NightlyImport(ctx: OrchestrationContext, input: { files: number }) {
      const files = Array.from({ length: input.files }, (_, file) => ctx.scheduleActivity('RenderInvoice', { file }));
      yield ctx.all(files);
      return { imported: input.files };
    },
  };
  return { activities, orchestrations };
}

/** A stack would show where this checkout is. */
function withoutStack(message: string): Error {
  const error = new Error(message);
  delete error.stack;
  return error;
}

const CUSTOMERS = [
  'mira@example.org',
  'jonas@example.org',
  'aylin@example.org',
  'pedro@example.org',
  'hana@example.org',
];

/** One that has fired as soon as time is real, one of the night, and one that rests. */
async function schedule({ client: { schedules } }: SteppedRuntime): Promise<void> {
  const target = { orchestration: 'NightlyImport', input: { files: 3 } };
  await schedules.create({ id: 'stock-count', ...target, everyMs: 15 * 60_000, overlap: 'skip' });
  await schedules.create({ id: 'nightly-import', ...target, cron: '0 2 * * *', timeZone: 'Europe/Berlin' });
  await schedules.create({
    id: 'sunday-newsletter',
    ...target,
    cron: '30 9 * * 0',
    timeZone: 'Europe/Berlin',
    paused: true,
  });
}

/** Large orders go through queues: three at a time, one of each customer. */
async function queueUp({ client }: SteppedRuntime): Promise<void> {
  const wholesale = { id: 'wholesale', concurrency: 3, concurrencyPerKey: 1, rate: { limit: 100, periodMs: 60_000 } };
  await client.startQueues.create(wholesale);
  await client.startQueues.create({ id: 'pre-orders', ratePerKey: { limit: 5, periodMs: 3_600_000 }, paused: true });
  const fulfil = declareOrchestration<Order>('Fulfil');
  for (let n = 0; n < 14; n++) {
    const order = 20_400 + n;
    const key = ['hotel-astra', 'cafe-nord', 'hotel-astra', 'bakery-lindt', 'hotel-astra'][n % 5];
    const queue = n < 11 ? 'wholesale' : 'pre-orders';
    await client.start(fulfil, orderOf(order), { id: `order-${order}`, queue, key });
  }
}

/** An hour of orders; the last of them still wait for the courier. */
async function trade(runtime: SteppedRuntime, clock: StageClock): Promise<void> {
  const { client, provider } = runtime;
  const endMs = clock.nowMs() + PAST_MS;
  const pickUps: { readonly id: string; readonly atMs: number }[] = [];
  let order = 10_400;
  let nextOrderAtMs = clock.nowMs();
  while (clock.nowMs() < endMs) {
    const nowMs = clock.nowMs();
    if (nowMs >= nextOrderAtMs) {
      order++;
      const id = `order-${order}`;
      await client.startOrchestration(id, 'Fulfil', orderOf(order));
      pickUps.push({ id, atMs: nowMs + 60_000 + Math.floor(Math.random() * 240_000) });
      if (order % 12 === 0)
        await client.startOrchestration(`import-${order}`, 'NightlyImport', { files: 3 + (order % 4) });
      nextOrderAtMs = nowMs + 15_000 + Math.floor(Math.random() * 60_000);
    }
    while (pickUps[0] !== undefined && pickUps[0].atMs <= nowMs) {
      const { id } = pickUps.shift() as { id: string };
      await client.raiseEvent(id, 'picked-up', { driver: 'K. Okafor', at: new Date(nowMs).toISOString() });
    }
    await runtime.settle();
    const { nextVisibleAtMs } = await provider.due();
    const next = Math.min(nextOrderAtMs, pickUps[0]?.atMs ?? Infinity, nextVisibleAtMs ?? Infinity);
    if (next > clock.nowMs()) clock.set(next);
  }
}

function orderOf(order: number): Order {
  return {
    order,
    customer: CUSTOMERS[order % CUSTOMERS.length] ?? '',
    items: [
      { sku: `LAMP-${100 + (order % 40)}`, quantity: 1 + (order % 3), price: 39 },
      { sku: 'BULB-E27', quantity: 4, price: 6.5 },
    ],
  };
}

/* eslint-disable @typescript-eslint/no-unused-vars, @typescript-eslint/no-unused-expressions -- only the types are of interest */
/**
 * Type tests: `npm run typecheck` fails when one of these lines stops compiling, or when
 * one that must not compile does. Nothing here is run.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { z } from 'zod';
import {
  activity,
  type ActivityError,
  type Client,
  declareActivity,
  declareOrchestration,
  event,
  type Jsonified,
  orchestration,
  type OrchestrationHandle,
  type Runtime,
  type StandardSchema,
  type TypedOrchestrationContext,
} from '../../src/index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Holds when both are exactly the same type; `any` is equal to `any` alone. */
function same<A, B>(_proof: Equal<A, B>): void {}

/** Whatever satisfies the published interface is a schema for us. */
const published = (schema: StandardSchemaV1<string, number>): StandardSchema<string, number> => schema;
void published;

declare const runtime: Runtime;
declare const client: Client;

interface Order {
  readonly id: string;
  readonly cents: number;
}

const charge = activity('charge', async (_ctx, order: Order) => ({ receipt: `r-${order.id}` }));
const ping = activity('ping', async () => 'pong');
const optional = activity('optional', (_ctx, n: number | undefined) => n ?? 0);
const declared = declareActivity<Order, boolean>('declared');
const paid = event<{ by: string }>('paid');

const checkout = orchestration('checkout', async (ctx, order: Order) => {
  const { receipt } = await ctx.call(charge, order);
  same<typeof receipt, string>(true);
  return receipt;
});
const steps = orchestration('steps', function* (ctx, order: Order) {
  const { receipt } = yield* ctx.call(charge, order);
  same<typeof receipt, string>(true);
  const both = yield* ctx.all([ctx.call(ping), ctx.call(declared, order)]);
  same<typeof both, [string, boolean]>(true);
  return receipt.length;
});
export const patient = orchestration('patient', async (_ctx, n: number) => n, {
  retry: { maxAttempts: 2, retryIf: (error) => error.message !== '' },
  timeoutMs: 5,
});
const nothing = orchestration('nothing', async (ctx) => {
  await ctx.sleep(1);
});

export const contexts = orchestration('contexts', async (ctx, order: Order): Promise<void> => {
  same<typeof ctx, TypedOrchestrationContext>(true);
  same<Awaited<ReturnType<typeof ctx.sleep>>, void>(true);

  // Calls: inputs are demanded where they carry something, and checked.
  const pong = await ctx.call(ping);
  same<typeof pong, string>(true);
  const length = await ctx.call(steps, order, { id: 'child' });
  same<typeof length, number>(true);
  await ctx.call(steps, order, { timeoutMs: 100, retry: { maxAttempts: 2 }, version: '1.0.0' });
  // @ts-expect-error a time-out is a number of milliseconds
  await ctx.call(steps, order, { timeoutMs: '5s' });
  // @ts-expect-error a child has no tag: its activities have
  await ctx.call(steps, order, { tag: 'gpu' });
  // @ts-expect-error what is started on its own is tried once: nobody awaits it
  ctx.start(steps, order, { id: 'alone', retry: { maxAttempts: 2 } });
  const zero = await ctx.call(optional);
  same<typeof zero, number>(true);
  await ctx.call(charge, order, {
    timeoutMs: 100,
    retry: { maxAttempts: 2, retryIf: (error) => error.message !== '' },
  });
  // @ts-expect-error the input is missing
  await ctx.call(charge);
  // @ts-expect-error the input has another type
  await ctx.call(charge, { id: 1 });
  // @ts-expect-error an activity has no instance id
  await ctx.call(charge, order, { id: 'x' });
  // @ts-expect-error a name is no definition
  await ctx.call('charge', order);

  // What is awaited together keeps the types apart.
  const [a, b] = await Promise.all([ctx.call(charge, order), ctx.call(declared, order)]);
  same<typeof a, { receipt: string }>(true);
  same<typeof b, boolean>(true);
  const raced = await ctx.race([ctx.call(ping), ctx.call(declared, order)]);
  same<typeof raced, string | boolean>(true);
  const first = await ctx.select({ paid: ctx.waitForEvent(paid), late: ctx.sleep(1) });
  if (first.key === 'paid') same<typeof first.value, { by: string }>(true);
  else same<typeof first.value, void>(true);
  const settled = await ctx.allSettled([ctx.call(ping), ctx.call(declared, order)]);
  same<typeof settled, [PromiseSettledResult<string>, PromiseSettledResult<boolean>]>(true);

  // Nothing is `any`: what has no type of its own is unknown.
  const unnamed = await ctx.waitForEvent('unnamed');
  same<typeof unnamed, unknown>(true);
  const value = ctx.kv.get('k');
  same<typeof value, unknown>(true);
  const status = ctx.status.get<{ n: number }>();
  same<typeof status, { n: number } | undefined>(true);
  const now = await ctx.now();
  same<typeof now, number>(true);
  ctx.start(checkout, order, { id: 'detached' });
  // @ts-expect-error a detached start needs an id
  ctx.start(checkout, order, {});
  // @ts-expect-error the input has another type
  ctx.start(checkout, 1, { id: 'detached' });
});

export async function clients(order: Order): Promise<void> {
  const handle = await client.start(checkout, order, { id: 'c-1', ifExists: 'error' });
  same<typeof handle, OrchestrationHandle<string>>(true);
  const receipt = await handle.result({ signal: AbortSignal.timeout(1), timeoutMs: 5 });
  same<typeof receipt, string>(true);
  const status = await handle.status();
  if (status.status === 'Completed') same<typeof status.output, string>(true);
  // @ts-expect-error only a completed instance has an output
  status.output;
  await client.start(nothing);
  await client.start(nothing, undefined, { id: 'n' });
  // @ts-expect-error the input is missing
  await client.start(checkout);
  // @ts-expect-error the input has another type
  await client.start(checkout, { id: 'x' });
  // @ts-expect-error no such choice
  await client.start(checkout, order, { ifExists: 'replace' });
  // @ts-expect-error an activity cannot be started
  await client.start(charge, order);

  await handle.events.raise(paid, { by: 'Ann' });
  await handle.events.enqueue('mailbox', 1);
  // @ts-expect-error the data has another type
  await handle.events.raise(paid, { by: 1 });
  // @ts-expect-error the data is missing
  await handle.events.raise(paid);
  for await (const custom of handle.watch<{ step: number }>()) {
    same<typeof custom, { step: number } | undefined>(true);
  }
  const known = client.handle(steps, 's-1');
  same<typeof known, OrchestrationHandle<number>>(true);
}

export function definitions(): void {
  runtime.register(charge, ping, checkout, steps, nothing);
  // @ts-expect-error a declaration has no code
  runtime.register(declared);
  runtime.register(declared.implement(async (_ctx, order) => order.cents > 0));
  // @ts-expect-error the code returns something else than was declared
  declared.implement(async () => 'yes');
  const remote = declareOrchestration<Order, string>('remote');
  remote.implement(async (ctx, order) => (await ctx.call(charge, order)).receipt);
  remote.implement(function* (ctx, order) {
    return (yield* ctx.call(charge, order)).receipt;
  });
  // @ts-expect-error the code returns something else than was declared
  remote.implement(async () => 1);
}

export const schemas = orchestration('schemas', async (ctx) => {
  // Where a schema converts, callers give what it takes and handlers get what it makes.
  const dated = activity('dated', async (_ctx, input) => input.at.getTime(), {
    input: z.object({ at: z.string().transform((text) => new Date(text)) }),
  });
  const time = await ctx.call(dated, { at: '2020-01-01' });
  same<typeof time, number>(true);
  // @ts-expect-error the schema takes a text
  await ctx.call(dated, { at: new Date() });
  const counted = activity('counted', async () => '5', { output: z.string().transform(Number) });
  const count = await ctx.call(counted);
  same<typeof count, number>(true);
  // @ts-expect-error the handler returns what the schema does not take
  activity('wrong', async () => 5, { output: z.string() });
  const signal = event('signal', { data: z.object({ n: z.number() }) });
  const { n } = await ctx.waitForEvent(signal);
  same<typeof n, number>(true);
});

export function errors(error: ActivityError): void {
  same<typeof error.activityName, string>(true);
  same<typeof error.cause, unknown>(true);
}

// What arrives of values that were stored as JSON.
interface Shipment {
  readonly id: string;
  readonly at: Date;
  readonly lines: readonly { readonly weight: number; readonly note?: string }[];
  readonly place: readonly [number, Date | null];
  readonly tags: Set<string>;
  readonly state: 'sent' | 'lost';
  readonly comment: string | undefined;
  readonly track: () => void;
}
interface Arrived {
  readonly id: string;
  readonly at: string;
  readonly lines: readonly { readonly weight: number; readonly note?: string }[];
  readonly place: readonly [number, string | null];
  readonly tags: Record<string, never>;
  readonly state: 'sent' | 'lost';
  readonly comment?: string;
}
same<Jsonified<Shipment>, Flattened<Arrived>>(true);
same<Jsonified<Date | undefined>, string | null>(true);
same<Jsonified<(Date | undefined)[]>, (string | null)[]>(true);
same<Jsonified<bigint>, never>(true);
same<Jsonified<unknown>, unknown>(true);
same<Jsonified<{ toJSON(): { at: Date } }>, { at: string }>(true);
same<Jsonified<Order>, Flattened<Order>>(true);
type Flattened<T> = { [K in keyof T]: T[K] };

// It makes the compiler refuse a caller who passes what would arrive as something else.
const ship = activity('ship', (_ctx, shipment: Jsonified<Pick<Shipment, 'id' | 'at'>>) => shipment.at.slice(0, 10));
orchestration('ships', async (ctx) => {
  await ctx.call(ship, { id: 's-1', at: new Date(await ctx.now()).toISOString() });
  // @ts-expect-error -- a Date arrives as a string
  await ctx.call(ship, { id: 's-1', at: new Date(await ctx.now()) });
});

/** The order workflow of the demo: retries, a timer, an external event and a child. */
import type { ActivityFunction } from '../../runtime/activity-handler.js';
import type { GeneratorOrchestration } from '../../runtime/generator/generator-driver.js';
import type { OrchestrationContext } from '../../runtime/generator/orchestration-context.js';

interface Order {
  readonly item: string;
  readonly euros: number;
}

/** How long the courier takes, in ms. */
const COURIER_MS = 1_500;

/** The activities, which tell what they do. */
export function orderActivities(say: (text: string) => void): Record<string, ActivityFunction> {
  let bankCalls = 0;
  return {
    Charge: (_ctx, order) => {
      // The bank is down at first: the retry policy of the orchestration deals with it.
      if (++bankCalls === 1) throw new Error('the bank does not answer');
      say(`the card is charged ${(order as Order).euros} euros`);
      return `receipt-${(order as Order).euros}`;
    },
    Pack: (_ctx, item) => say(`${String(item)} is packed`),
    HandOver: (_ctx, item) => say(`the courier has ${String(item)}`),
  };
}

function* order(ctx: OrchestrationContext, input: Order): Generator<unknown, unknown, never> {
  ctx.setCustomStatus('charging the card');
  const receipt: string = yield ctx.scheduleActivityWithRetry('Charge', input, { maxAttempts: 5 });
  ctx.setCustomStatus(`paid, ${receipt}`);
  yield ctx.scheduleSubOrchestration('Ship', input);
  ctx.setCustomStatus('waiting for the signature');
  const signature: { by: string } = yield ctx.waitForEvent('signed');
  return `order delivered, signed by ${signature.by}, ${receipt}`;
}

function* ship(ctx: OrchestrationContext, input: Order): Generator<unknown, unknown, never> {
  yield ctx.scheduleActivity('Pack', input.item);
  // The courier comes later. A timer is a row in a table: it may as well be a month.
  yield ctx.scheduleTimer(COURIER_MS);
  yield ctx.scheduleActivity('HandOver', input.item);
  return 'shipped';
}

export const orderOrchestrations: Record<string, GeneratorOrchestration> = { Order: order, Ship: ship };

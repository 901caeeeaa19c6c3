import { expect } from '@jest/globals';
import { activity, type OrchestrationFailedError, orchestration, RemoteError } from '../../src/index.js';
import { describeScenarios } from '../support/scenarios.js';

class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
  readonly code = 'card_declined';
}

const charge = activity('charge', async (_ctx, cents: number): Promise<string> => {
  throw new CardDeclined(`no cover for ${cents}`, { cause: new RangeError('limit reached') });
});
const payment = orchestration('payment', async (ctx, cents: number) => ctx.call(charge, cents));
const checkout = orchestration('checkout', async (ctx, cents: number) => {
  try {
    return await ctx.call(payment, cents);
  } catch (error) {
    throw new Error('the checkout failed', { cause: error });
  }
});
const patient = orchestration('patient', async (ctx) => ctx.waitForEvent<string>('never'));
const throwsText = orchestration('throws-text', async (): Promise<void> => {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- user code may throw anything
  throw 'just text';
});

const definitions = [charge, payment, checkout, patient, throwsText];

describeScenarios(
  'errors of handles',
  {
    'the chain of causes reaches across children and activities, with original names, codes and stacks': async ({
      open,
      id,
    }) => {
      const runtime = open({ definitions });
      const handle = await runtime.client.start(checkout, 500, { id: id() });
      await runtime.settle();
      const failed = await failureOf(handle.result({ timeoutMs: 0 }));
      expect(failed).toMatchObject({
        name: 'OrchestrationFailedError',
        message: 'Error: the checkout failed',
        instanceId: handle.id,
        orchestrationName: 'checkout',
        kind: 'Application',
      });
      const chain = causesOf(failed);
      expect(chain.map(({ name, message }) => [name, message])).toEqual([
        ['Error', 'the checkout failed'],
        ['SubOrchestrationError', expect.stringContaining('ActivityError: Activity ')],
        ['ActivityError', "Activity 'charge' JS execution failed: GenericFailure, CardDeclined: no cover for 500"],
        ['CardDeclined', 'no cover for 500'],
        ['RangeError', 'limit reached'],
      ]);
      expect(chain.every((cause) => cause instanceof RemoteError)).toBe(true);
      expect(chain[1]?.origin).toEqual({ orchestration: 'payment', activity: undefined });
      expect(chain[2]?.origin).toEqual({ orchestration: undefined, activity: 'charge' });
      expect(chain[3]).toMatchObject({ code: 'card_declined' });
      // The stack of the handler that threw, kept as data.
      expect(chain[3]?.remoteStack).toMatch(/^CardDeclined: no cover for 500\n +at .*errors\.test/);
      const status = await handle.status();
      expect(status.status === 'Failed' && status.error.message).toBe('Error: the checkout failed');
    },

    'inside of the orchestration the same chain is there, also after a replay': async ({ open, id }) => {
      const seen: string[] = [];
      const looks = orchestration('looks', async (ctx) => {
        const error = await ctx.call(charge, 7).catch((thrown: Error) => thrown);
        seen.push(
          causesOf(error as Error)
            .map(({ name }) => name)
            .join(),
        );
        await ctx.sleep(1_000);
        return 'done';
      });
      const first = open({ definitions: [charge, looks] });
      const handle = await first.client.start(looks, undefined, { id: id() });
      await first.settle();
      const second = open({ definitions: [charge, looks] });
      await second.advance(1_000);
      expect(await handle.result({ timeoutMs: 0 })).toBe('done');
      expect(new Set(seen)).toEqual(new Set(['CardDeclined,RangeError']));
    },

    'R:CN-01 a cancelled instance rejects with its reason': async ({ open, id }) => {
      const runtime = open({ definitions });
      const handle = await runtime.client.start(patient, undefined, { id: id() });
      await runtime.settle();
      await handle.cancel('changed my mind');
      await runtime.settle();
      expect(await failureOf(handle.result({ timeoutMs: 0 }))).toMatchObject({
        name: 'OrchestrationCancelledError',
        message: 'canceled: changed my mind',
        reason: 'changed my mind',
      });
    },

    'something that is no error keeps its text': async ({ open, id }) => {
      const runtime = open({ definitions });
      const handle = await runtime.client.start(throwsText, undefined, { id: id() });
      await runtime.settle();
      expect(await failureOf(handle.result({ timeoutMs: 0 }))).toMatchObject({
        message: 'just text',
        kind: 'Application',
      });
    },

    'a failure that no code threw says what it was': async ({ open, id }) => {
      const runtime = open(
        { definitions: [] },
        { maxAttempts: 1, unregisteredBackoff: { baseDelayMs: 1, maxDelayMs: 1 } },
      );
      const handle = await runtime.client.start(patient, undefined, { id: id() });
      await runtime.runToEnd(handle.id);
      expect(await failureOf(handle.result({ timeoutMs: 0 }))).toMatchObject({
        kind: 'Poison',
        message: `poison: orchestration ${handle.id} exceeded 2 attempts (max 1)`,
      });
    },
  },
  ['memory', 'postgres'],
);

async function failureOf(result: Promise<unknown>): Promise<OrchestrationFailedError> {
  return result.then(
    () => {
      throw new Error('expected a failure');
    },
    (error: OrchestrationFailedError) => error,
  );
}

function causesOf(error: Error): RemoteError[] {
  const causes: RemoteError[] = [];
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) causes.push(cause);
  return causes;
}

import { describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import type { Due, QueueName } from '../../src/provider/provider.js';
import { WakeDamper } from '../../src/runtime/wake-damper.js';
import { MemoryProvider } from '../support/memory-provider.js';
import { SteppedRuntime, waitFor } from '../support/runtime-harness.js';

describe('C-27 looks at what all processes were told of', () => {
  test('who finds something never waits; who comes too late twice waits longer each time, up to a bound', () => {
    const damper = new WakeDamper(() => 1);
    expect(damper.pauseMs()).toBe(0);
    const pauses = Array.from({ length: 11 }, () => {
      damper.foundNothing();
      return damper.pauseMs();
    });
    expect(pauses).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256]);
    damper.found();
    damper.foundNothing();
    expect(damper.pauseMs()).toBe(0);
  });

  test('a single item is left to the quicker only by who was too late more than once, and longer each time', () => {
    const damper = new WakeDamper(() => 0.5);
    const patience = Array.from({ length: 10 }, () => {
      damper.foundNothing();
      return damper.patienceMs();
    });
    expect(patience).toEqual([0, 12, 24, 48, 96, 192, 384, 768, 1_536, 3_072]);
    damper.found();
    damper.foundNothing();
    expect(damper.patienceMs()).toBe(0);
  });

  test('many wait differently long', () => {
    let next = 0;
    const damper = new WakeDamper(() => (next += 0.1));
    for (let n = 0; n < 8; n++) damper.foundNothing();
    expect([damper.pauseMs(), damper.pauseMs(), damper.pauseMs()].map(Math.round)).toEqual([6, 13, 19]);
  });

  /** A store whose wake-ups a test sends, and which counts what it is asked. */
  class ToldProvider extends MemoryProvider {
    readonly asked: string[] = [];
    tell: (queue: QueueName, isFromElsewhere?: boolean) => unknown = () => undefined;

    override onWakeUp(listener: (queue: QueueName, isFromElsewhere?: boolean) => unknown): () => void {
      this.tell = listener;
      return () => undefined;
    }
    override fetchOrchestrationItems(params: Parameters<MemoryProvider['fetchOrchestrationItems']>[0]) {
      this.asked.push('fetch');
      return super.fetchOrchestrationItems(params);
    }
    dueNow: Partial<Due> = {};
    override async due() {
      this.asked.push('due');
      const due = await super.due();
      return { ...due, ...this.dueNow };
    }
  }

  test('a runtime that came too late twice asks once whether anything is left, and does not fetch', async () => {
    const clock = new FakeClock();
    const provider = new ToldProvider(clock);
    const handlers = {
      orchestrations: {
        *X() {
          return 'done';
        },
      },
    };
    const runtime = new SteppedRuntime(provider, clock, handlers, {
      workerConcurrency: 0,
      dispatcherPollIntervalMs: 1_000_000,
      maxPollIntervalMs: 1_000_000,
    });
    runtime.startLoops();
    const isIdle = () => runtime.parts['orchestrationLoop']['idle'];
    await waitFor('it is idle', isIdle);
    const askedSince = async (tell: () => void, untilAsked: number) => {
      provider.asked.length = 0;
      tell();
      await waitFor('it asked', () => {
        clock.advance(300);
        return provider.asked.length >= untilAsked;
      });
      await waitFor('it is idle again', isIdle);
      return [...provider.asked];
    };
    // The first two times it goes at once, and finds that others were quicker.
    expect(await askedSince(() => provider.tell('orchestrator', true), 1)).toEqual(['fetch']);
    expect(await askedSince(() => provider.tell('orchestrator', true), 1)).toEqual(['fetch']);
    expect(await askedSince(() => provider.tell('orchestrator', true), 1)).toEqual(['due']);
    // What this process enqueues itself is not waited for.
    expect(await askedSince(() => provider.tell('orchestrator'), 1)).toEqual(['fetch']);
    // One item is left to the quicker for a moment; of several there may be more than they have room for.
    provider.dueNow = { orchestrator: true };
    const told = () => provider.tell('orchestrator', true);
    expect(await askedSince(told, 3)).toEqual(['due', 'due', 'fetch']);
    provider.dueNow = { orchestrator: true, several: ['orchestrator'] };
    expect(await askedSince(told, 2)).toEqual(['due', 'fetch']);
    provider.dueNow = {};
    // And work that is left is found.
    await runtime.client.startOrchestration('i', 'X');
    provider.tell('orchestrator', true);
    await waitFor('it ends', async () => {
      clock.advance(300);
      return (await runtime.client.getStatus('i')).status === 'Completed';
    });
    await runtime.stop();
  });
});

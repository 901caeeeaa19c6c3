import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { LIVE_SPACING_MS, LivePoll } from '../../src/dashboard/live/live-poll.js';
import { type LiveTask, Topic } from '../../src/dashboard/live/topic.js';
import type { LiveMessages } from '../../src/dashboard/views.js';
import type { Provider } from '../../src/provider/provider.js';
import { ProviderError } from '../../src/provider/provider-error.js';
import { waitFor } from '../support/waiting.js';
import { DashboardUnderTest, mount, type Mounted } from './stage.js';

/** Lets what was resolved go on until it waits for the clock again. */
const turnsPass = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

class CountingTopic extends Topic {
  reads = 0;
  readonly task: LiveTask;
  readonly tasks: readonly LiveTask[];

  constructor(read: () => Promise<void> = async () => {}, statements = 1) {
    super();
    const run = async () => {
      this.reads++;
      await read();
    };
    this.task = { dueAtMs: -Infinity, statements, run };
    this.tasks = [this.task];
  }
}

describe('the poll', () => {
  test.each([1, 5, 100])(
    'with %d open pages there is one reading per second, and all get their turn',
    async (pages) => {
      const clock = new FakeClock();
      const poll = new LivePoll(clock, silentLogger);
      const topics = Array.from({ length: pages }, () => {
        const topic = new CountingTopic();
        topic.task.run = async () => {
          topic.reads++;
          topic.task.dueAtMs = clock.nowMs();
        };
        return topic;
      });
      const ends = topics.map((topic, index) =>
        poll.watch(
          `t${index}`,
          () => topic,
          () => undefined,
        ),
      );
      await turnsPass();
      for (let second = 1; second < 200; second++) {
        clock.advance(LIVE_SPACING_MS);
        await turnsPass(3);
      }
      const reads = topics.map((topic) => topic.reads);
      expect(reads.reduce((a, b) => a + b)).toBe(200);
      expect(Math.max(...reads) - Math.min(...reads)).toBeLessThanOrEqual(1);
      ends.forEach((end) => end());
    },
  );

  test('after a reading of several statements it rests as many seconds, also when that reading failed', async () => {
    const clock = new FakeClock();
    const poll = new LivePoll(clock, silentLogger);
    const dear = new CountingTopic(async () => {
      if (dear.reads === 2) throw ProviderError.permanent('read', 'Failed to deserialize event');
      if (dear.reads === 3) throw ProviderError.retryable('read', 'connection refused');
    }, 5);
    const end = poll.watch(
      't',
      () => dear,
      () => undefined,
    );
    const pauses: number[] = [];
    await turnsPass();
    for (let readings = 0; readings < 4; readings++) {
      pauses.push((clock.nextWakeAtMs ?? 0) - clock.nowMs());
      clock.set(clock.nextWakeAtMs ?? 0);
      await turnsPass();
    }
    expect(dear.reads).toBe(5);
    expect(pauses).toEqual(Array(4).fill(5 * LIVE_SPACING_MS));
    end();
  });

  test('pages that look at the same share one topic; when the last has gone, nothing is read', async () => {
    const clock = new FakeClock();
    const poll = new LivePoll(clock, silentLogger);
    const made: CountingTopic[] = [];
    const create = () => made[made.push(new CountingTopic()) - 1] as CountingTopic;
    const first = poll.watch('same', create, () => undefined);
    const second = poll.watch('same', create, () => undefined);
    expect(made).toHaveLength(1);
    await turnsPass();
    first();
    clock.advance(LIVE_SPACING_MS);
    await turnsPass();
    expect(made[0]?.reads).toBe(2);
    second();
    await turnsPass();
    expect(clock.sleeping).toBe(0);
    clock.advance(60_000);
    await turnsPass();
    expect(made[0]?.reads).toBe(2);
  });

  test('while the store does not answer it is asked less and less, pages are told, and told of the recovery', async () => {
    const clock = new FakeClock();
    const poll = new LivePoll(clock, silentLogger);
    let isDown = true;
    const topic = new CountingTopic(async () => {
      if (isDown) throw ProviderError.retryable('read', 'connection refused');
    });
    const heard: string[] = [];
    const end = poll.watch(
      't',
      () => topic,
      (name) => heard.push(name),
    );
    await turnsPass();
    const pauses: number[] = [];
    for (let tries = 0; tries < 6; tries++) {
      pauses.push((clock.nextWakeAtMs ?? 0) - clock.nowMs());
      clock.set(clock.nextWakeAtMs ?? 0);
      await turnsPass();
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
    const late: string[] = [];
    const endLate = poll.watch(
      't',
      () => topic,
      (name) => late.push(name),
    );
    isDown = false;
    clock.advance(10_000);
    await turnsPass();
    expect(heard).toEqual(['trouble', 'recovered']);
    expect(late).toEqual(['trouble', 'recovered']);
    expect((clock.nextWakeAtMs ?? 0) - clock.nowMs()).toBe(LIVE_SPACING_MS);
    end();
    endLate();
  });

  test('a page whose own reading fails is told alone, and the others go on', async () => {
    const clock = new FakeClock();
    const poll = new LivePoll(clock, silentLogger);
    const heard: [string, unknown][] = [];
    const broken = new CountingTopic();
    broken.task.run = async () => {
      broken.task.dueAtMs = Infinity;
      throw ProviderError.permanent('read', 'Failed to deserialize event');
    };
    const healthy = new CountingTopic();
    healthy.task.dueAtMs = clock.nowMs() + 1;
    const ends = [
      poll.watch(
        'broken',
        () => broken,
        (name, data) => heard.push([name, data]),
      ),
      poll.watch(
        'healthy',
        () => healthy,
        (name) => heard.push([`healthy ${name}`, undefined]),
      ),
    ];
    await turnsPass();
    clock.advance(1_000);
    await turnsPass();
    expect(heard.map(([name]) => name)).toEqual(['trouble']);
    expect(healthy.reads).toBe(1);
    ends.forEach((end) => end());
  });
});

/** Reads a stream of server-sent events. */
class Listener {
  readonly heard: { readonly name: string; readonly data: unknown }[] = [];
  private readonly abort = new AbortController();

  static async open(mounted: Mounted, path: string): Promise<Listener> {
    const listener = new Listener();
    const answer = await mounted.fetch(path, { signal: listener.abort.signal });
    if (answer.status !== 200 || !answer.body) throw new Error(`status ${answer.status}`);
    void listener.read(answer.body);
    return listener;
  }

  last<K extends keyof LiveMessages>(name: K): LiveMessages[K] | undefined {
    return this.heard.findLast((message) => message.name === name)?.data as LiveMessages[K] | undefined;
  }

  close(): void {
    this.abort.abort();
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    const reader = body.getReader();
    this.abort.signal.addEventListener('abort', () => void reader.cancel());
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const name = /^event: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (name !== undefined && data !== undefined) this.heard.push({ name, data: JSON.parse(data) as unknown });
      }
    }
  }
}

describe('an open page', () => {
  let stage: DashboardUnderTest;
  let mounted: Mounted;
  let reads: string[];
  let open: Listener[];
  beforeAll(async () => {
    stage = await DashboardUnderTest.open({
      activities: { Work: () => 'done' },
      orchestrations: {
        *Wait(ctx) {
          ctx.setCustomStatus('begun');
          for (;;) {
            const go: unknown = yield ctx.waitForEvent('go');
            if (go === 'stop') return 'stopped';
            ctx.setCustomStatus(String(go));
            ctx.setValue('last', String(go));
            yield ctx.scheduleActivity('Work');
          }
        },
      },
    });
  });
  beforeEach(() => {
    reads = [];
    open = [];
    const admin = counting(stage.provider.asManagement(), reads);
    const provider = counting<Provider>(stage.provider, reads);
    mounted = mount({
      provider: new Proxy(provider, {
        get: (target, name) => (name === 'asManagement' ? () => admin : (Reflect.get(target, name) as unknown)),
      }),
      clock: stage.clock,
    });
  });
  afterEach(() => {
    open.forEach((listener) => listener.close());
    mounted.dashboard.close();
  });
  afterAll(() => stage.close());

  const listen = async (path: string) => {
    const listener = await Listener.open(mounted, path);
    open.push(listener);
    return listener;
  };
  const second = async () => {
    const before = reads.length;
    stage.clock.advance(1_000);
    await waitFor('the poll waits again', () => stage.clock.sleeping > 0 || reads.length > before);
    await turnsPass(50);
  };
  const until = async (what: string, condition: () => boolean) => {
    for (let seconds = 0; seconds < 30 && !condition(); seconds++) {
      await second();
      await new Promise((resolve) => setTimeout(resolve, 10)); // the answer comes over a real connection
    }
    if (!condition()) throw new Error(`${what} was not heard of`);
  };

  test('hears of an instance: events, bars, custom status, values and its end', async () => {
    await stage.runtime.client.startOrchestration('live', 'Wait');
    await stage.runtime.settle();
    const page = await listen('/api/live/instance?id=live');
    await until('the first look', () => page.last('history') !== undefined);
    expect(page.last('history')).toMatchObject({ status: 'Running', customStatus: 'begun' });
    const total = page.last('history')?.total ?? 0;

    await stage.runtime.client.raiseEvent('live', 'go', 'one');
    await stage.runtime.settle();
    await until('the new status', () => page.last('history')?.customStatus === 'one');
    const fresh = page.last('history');
    expect(fresh?.events[0]?.eventId).toBe(total + 1);
    expect(fresh?.timeline.lanes.map(({ label }) => label)).toEqual(['go', 'Work', 'go']);
    await until('the value', () => page.last('instance')?.values?.[0]?.value.text === 'one');

    await stage.runtime.client.raiseEvent('live', 'go', 'stop');
    await stage.runtime.settle();
    await until('the end', () => page.last('instance')?.row?.status === 'Completed');
    expect(page.last('instance')?.output?.text).toBe('"stopped"');

    await stage.provider.asManagement().deleteInstance('live', true);
    await until('the deletion', () => page.last('gone') !== undefined);
  });

  test('hears of a new instance in the list, and nothing while nothing changes', async () => {
    const page = await listen('/api/live/instances?id=listed-');
    await until('the first look', () => page.heard.length === 1);
    for (let seconds = 0; seconds < 8; seconds++) await second();
    expect(page.heard).toHaveLength(1);
    await stage.runtime.client.startOrchestration('listed-1', 'Wait');
    await stage.runtime.settle();
    await until('the instance', () => page.last('list')?.rows[0]?.id === 'listed-1');
  });

  test('whatever is open, all parts get their turn, and nothing counts or lists everything', async () => {
    for (let n = 0; n < 4; n++) await stage.runtime.client.startOrchestration(`many-${n}`, 'Wait');
    await stage.runtime.settle();
    for (let n = 0; n < 4; n++) await listen(`/api/live/instance?id=many-${n}`);
    for (let n = 0; n < 5; n++) await listen('/api/live/overview');
    await listen('/api/live/instances');
    await listen('/api/live/instances?status=Failed');
    await turnsPass(200);
    const before = reads.length;
    for (let seconds = 0; seconds < 60; seconds++) {
      if (seconds % 5 === 0) {
        await stage.runtime.client.raiseEvent(`many-${seconds % 4}`, 'go', seconds);
        await stage.runtime.settle();
      }
      await second();
    }
    // Each of them is one statement or more; cost.test.ts counts those.
    expect(reads.length - before).toBeLessThanOrEqual(61);
    expect(reads.length - before).toBeGreaterThan(20);
    const operations = new Set(reads.slice(before));
    for (const part of [
      'read',
      'listInstancesPage',
      'countByStatus',
      'getQueueBacklogs',
      'workers',
      'getKvAllValues',
    ]) {
      expect(operations).toContain(part);
    }
    // Nothing that counts or lists everything.
    for (const costly of ['listInstances', 'listInstancesByStatus', 'getSystemMetrics', 'getInstanceTree']) {
      expect(operations).not.toContain(costly);
    }
  });

  test('a HEAD opens no stream, however many there are', async () => {
    const routes = ['overview', 'instances', 'schedules', 'queues', 'instance?id=x'];
    for (let n = 0; n < 201; n++) {
      const answer = await mounted.fetch(`/api/live/${routes[n % routes.length]}`, { method: 'HEAD' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    }
    await turnsPass();
    expect(stage.clock.sleeping).toBe(0); // nothing is polled
    const page = await mounted.fetch('/api/live/overview');
    expect(page.status).toBe(200);
    await page.body?.cancel();
  });

  test('when the dashboard is closed its streams end', async () => {
    const answer = await mounted.fetch('/api/live/overview');
    const text = answer.text();
    await turnsPass();
    mounted.dashboard.close();
    expect(await text).toContain(': open');
  });
});

/** Notes every operation that is called, but for the ones that ask nothing. */
function counting<T extends object>(target: T, reads: string[]): T {
  const free = new Set(['nowMs', 'name', 'version', 'onEnded', 'onDeleted', 'onWakeUp', 'asManagement']);
  return new Proxy(target, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (!free.has(String(name))) reads.push(String(name));
        return (value as (...given: unknown[]) => unknown).apply(object, args);
      };
    },
  });
}

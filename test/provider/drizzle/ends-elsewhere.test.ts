import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { FakeClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/logger.js';
import { Client } from '../../../src/client/client.js';
import { DrizzleProvider } from '../../../src/provider/drizzle/drizzle-provider.js';
import { EndsElsewhere } from '../../../src/provider/drizzle/ends-elsewhere.js';
import { Runtime } from '../../../src/runtime/runtime.js';
import { databaseUrl, dropSchema, uniqueSchema } from '../../support/database.js';
import { waitFor } from '../../support/runtime-harness.js';

test('a client waits in one process for what ends in another, and need not poll', async () => {
  const schema = uniqueSchema('ends');
  const worker = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  const elsewhere = await DrizzleProvider.connect(databaseUrl(), { schema, logger: silentLogger });
  const runtime = new Runtime(worker, { logger: silentLogger, logLevel: 'off' });
  runtime.registerOrchestration('Wait', function* (ctx): Generator<unknown, unknown, unknown> {
    return yield ctx.waitForEvent('go');
  });
  await runtime.start();
  // Its clock stands still: after the first look only news from elsewhere make it look again.
  const client = new Client(elsewhere, { clock: new FakeClock() });
  try {
    await client.startOrchestration('w-1', 'Wait');
    const result = client.waitForOrchestration('w-1');
    await waitFor('it is listened to', () => elsewhere.wakeUps().listening);
    // An event that comes before its subscription is for nobody.
    await waitFor('it waits for the event', async () =>
      (await elsewhere.read('w-1')).some(({ kind }) => kind === 'ExternalSubscribed'),
    );
    await waitFor(
      'the worker knows that somebody waits',
      () => worker['parts'].notifications.ends['othersWaitUntilMs'] > performance.now(),
    );
    await client.raiseEvent('w-1', 'go', 7);
    expect(await result).toMatchObject({ status: 'Completed', output: 7 });
  } finally {
    await runtime.shutdown(0);
    await elsewhere.close();
    await worker.close();
    await dropSchema(schema);
  }
});

/** Processes on one line, which delivers to all, also to the sender. */
class Line {
  readonly channel = 'line';
  readonly sent: string[] = [];
  readonly processes: EndsElsewhere[] = [];
  held = 0;
  isListening = true;

  join(): EndsElsewhere {
    const ends = new EndsElsewhere(this, silentLogger);
    this.processes.push(ends);
    return ends;
  }

  hold(): () => void {
    this.held += 1;
    return () => void (this.held -= 1);
  }

  async send(payload: string): Promise<void> {
    this.sent.push(payload);
    for (const ends of this.processes) ends.receive(payload);
  }
}

describe('ends of instances in other processes', () => {
  const open: EndsElsewhere[] = [];
  afterEach(async () => {
    jest.useRealTimers();
    for (const ends of open.splice(0)) await ends.close();
  });

  function processes() {
    const line = new Line();
    const [worker, waiting] = [line.join(), line.join()];
    open.push(worker, waiting);
    const heard: ((instance: string) => boolean)[] = [];
    const wait = () => waiting.onEnded((concerns) => heard.push(concerns));
    return { line, worker, waiting, heard, wait };
  }

  test('nothing is sent as long as nobody says that he waits', async () => {
    const { line, worker, heard, wait } = processes();
    worker.ended(['a']);
    expect(line.sent).toEqual([]);
    wait();
    worker.ended(['b']);
    await waitFor('it is heard', () => heard.length === 1);
    expect(['a', 'b', 'c'].map((id) => heard[0]?.(id))).toEqual([false, true, false]);
  });

  test('ids never travel, and what a process sends is nothing to itself', async () => {
    const { line, worker, waiting, heard, wait } = processes();
    wait();
    const own: unknown[] = [];
    worker.onEnded((concerns) => own.push(concerns));
    worker.ended(['jane@example.org']);
    await waitFor('it is heard', () => heard.length === 1);
    expect(line.sent.join()).not.toMatch(/jane|example/);
    expect(own).toEqual([]);
    waiting.ended(['x']);
    await waitFor('the other hears it', () => own.length === 1);
  });

  test('a lone end may travel with its transaction; what ends meanwhile is told afterwards', async () => {
    const { line, worker, heard, wait } = processes();
    expect(worker.notice('a')).toBeUndefined();
    wait();
    const notice = worker.notice('a');
    expect(notice?.isUsed).toBe(false);
    const { values } = notice!.step();
    expect(notice?.isUsed).toBe(true);
    expect(values['channel']).toBe('line');
    expect(worker.notice('b')).toBeUndefined();
    worker.ended(['b']);
    expect(line.sent.filter((payload) => payload.startsWith('e'))).toEqual([]);
    await line.send(values['payload'] as string);
    expect(['a', 'b'].map((id) => heard[0]?.(id))).toEqual([true, false]);
    notice?.release();
    await waitFor('the other one is heard', () => heard.length === 2);
    expect(heard[1]?.('b')).toBe(true);
  });

  test('a notice that no transaction took along delays nothing', async () => {
    const { worker, heard, wait } = processes();
    wait();
    const notice = worker.notice('a');
    worker.ended(['a']);
    notice?.release();
    await waitFor('it is heard', () => heard.length === 1);
    expect(heard[0]?.('a')).toBe(true);
  });

  test('however many end at once, the payload fits; those left out are found by polling', async () => {
    const { line, worker, heard, wait } = processes();
    wait();
    worker.ended(Array.from({ length: 5_000 }, (_, n) => `order-${n}`));
    await waitFor('it is heard', () => heard.length === 1);
    expect(line.sent.at(-1)?.length).toBeLessThan(8_000);
    expect([heard[0]?.('order-0'), heard[0]?.('order-799'), heard[0]?.('order-800')]).toEqual([true, true, false]);
  });

  test('who waits says so every five seconds while he looks, and is forgotten after fifteen', async () => {
    jest.useFakeTimers();
    const { line, worker, waiting, wait } = processes();
    const stop = wait();
    const wishes = () => line.sent.filter((payload) => payload.startsWith('i')).length;
    await jest.advanceTimersByTimeAsync(4_999);
    waiting.stillWaiting();
    expect(wishes()).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    waiting.stillWaiting();
    expect(wishes()).toBe(2);
    stop();
    waiting.stillWaiting();
    await jest.advanceTimersByTimeAsync(15_001);
    worker.ended(['late']);
    expect(line.sent).toHaveLength(2);
  });

  test('the line is held while somebody waits, and half a minute longer', async () => {
    jest.useFakeTimers();
    const { line, wait } = processes();
    const stops = [wait(), wait()];
    expect(line.held).toBe(1);
    for (const stop of stops) stop();
    await jest.advanceTimersByTimeAsync(20_000);
    const stop = wait();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(line.held).toBe(1);
    stop();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(line.held).toBe(0);
  });

  test('what ended before it could be heard is looked for', () => {
    const { waiting, heard, wait } = processes();
    wait();
    waiting.listening();
    expect(heard.map((concerns) => concerns('anything'))).toEqual([true]);
  });
});

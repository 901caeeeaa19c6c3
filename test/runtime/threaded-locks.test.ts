import { expect, test } from '@jest/globals';
import { FakeClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/logger.js';
import { LockKeeper } from '../../src/provider/lock-keeper.js';
import type { LockThread } from '../../src/provider/lock-thread.js';
import type { WorkItemLock } from '../../src/provider/provider.js';
import { ThreadedLocks } from '../../src/runtime/threaded-locks.js';
import { waitFor } from '../support/runtime-harness.js';

const LOCK_MS = 3_000;
const lock = (name: string): WorkItemLock => ({ instance: name, lockToken: `lock_${name}:1` });

function setUp() {
  const clock = new FakeClock();
  const said: string[] = [];
  const renewed: string[] = [];
  const metrics = { locksLost: 0, lateRenewals: 0 };
  const eventLoop = new LockKeeper<WorkItemLock>({
    what: 'activity',
    lockTimeoutMs: LOCK_MS,
    renewalBufferMs: 0,
    clock,
    logger: silentLogger,
    metrics: () => metrics,
    renew: async (locks) => {
      renewed.push(...locks.map(({ lockToken }) => lockToken));
      return locks.map(() => ({ ok: true, value: undefined }));
    },
  });
  const thread: LockThread = {
    hold: (kind, { lockToken }, ageMs) => void said.push(`hold ${kind} ${lockToken} ${ageMs}`),
    release: (kind, lockToken) => void said.push(`release ${kind} ${lockToken}`),
    useSessions: () => undefined,
    close: async () => undefined,
  };
  const locks = new ThreadedLocks('work', eventLoop, { clock, metrics: () => metrics });
  return { clock, said, renewed, metrics, thread, locks };
}

test('a thread is told what to hold, how old it is, and what was released', () => {
  const { clock, locks, thread, said, renewed } = setUp();
  locks.use(thread);
  const takenAtMs = clock.nowMs();
  clock.advance(40);
  locks.hold(lock('a'), takenAtMs, () => undefined);
  expect(locks.size).toBe(1);
  locks.release(lock('a'));
  expect(locks.size).toBe(0);
  expect(said).toEqual(['hold work lock_a:1 40', 'release work lock_a:1']);
  expect(renewed).toEqual([]);
});

test('a lock that the thread lost is told once, and not after it was released', () => {
  const { clock, locks, thread, metrics } = setUp();
  locks.use(thread);
  const lost: string[] = [];
  for (const name of ['a', 'b']) locks.hold(lock(name), clock.nowMs(), () => lost.push(name));
  locks.release(lock('b'));
  for (const token of ['lock_a:1', 'lock_a:1', 'lock_b:1', 'lock_c:1']) locks.lost(token);
  expect(lost).toEqual(['a']);
  expect(metrics.locksLost).toBe(1);
});

test('when the thread dies the event loop renews what it held, and what comes', async () => {
  const { clock, locks, thread, renewed } = setUp();
  locks.use(thread);
  locks.hold(lock('a'), clock.nowMs(), () => undefined);
  locks.use(undefined);
  locks.hold(lock('b'), clock.nowMs(), () => undefined);
  await waitFor('the event loop waits for the next renewal', () => clock.sleeping > 0);
  clock.advance(LOCK_MS / 3);
  await waitFor('both are renewed', () => renewed.length === 2);
  expect(renewed.sort()).toEqual(['lock_a:1', 'lock_b:1']);
  locks.clear();
  expect(locks.size).toBe(0);
});

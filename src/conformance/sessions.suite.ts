import { checkGroup } from './check.js';
import { activityCompleted, activityItem } from './records.js';
import type { Trial } from './trial.js';
import { LOCK_MS, LONG_LOCK_MS, ownedBy } from './trial.js';

const IDLE_MS = 300_000;

/** An activity of a session. */
const inSession = (id: number, sessionId = 's') => activityItem('x', id, { sessionId });

const renewal = (owner: string, { extendMs = LONG_LOCK_MS, idleTimeoutMs = IDLE_MS } = {}) => ({
  ownerIds: [owner],
  extendMs,
  idleTimeoutMs,
});

/** A's session ends after {@link LOCK_MS}, its first item only after {@link LONG_LOCK_MS}. */
const shortSession = ownedBy('A', LOCK_MS);

/** A owns the session through item 1, and item 2 waits in it. */
async function ownedWithOneWaiting(t: Trial) {
  await t.schedule(inSession(1));
  const first = await t.takeWork(1, shortSession);
  await t.schedule(inSession(2));
  return first;
}

export const sessions = checkGroup('sessions', (check) => {
  check('SE-1', 'an item without a session goes to any worker', async (t) => {
    await t.schedule(activityItem('x', 1));
    await t.takeWork(1, ownedBy('A'));
  });

  check('SE-2', 'an item of an unowned session is fetchable and keeps its session', async (t) => {
    await t.schedule(inSession(1));
    t.expect((await t.takeWork(1, ownedBy('A'))).item).toEqual(inSession(1));
  });

  check('SE-3', "the owner gets the session's next item", async (t) => {
    await ownedWithOneWaiting(t);
    await t.takeWork(2, ownedBy('A'));
  });

  check('SE-4', 'another worker gets nothing of an owned session', async (t) => {
    await ownedWithOneWaiting(t);
    await t.expectNoWork(ownedBy('B'));
  });

  check('SE-5', 'two workers own two sessions and get only their own items', async (t) => {
    await t.schedule(inSession(1, 'one'), inSession(2, 'two'));
    await t.takeWork(1, ownedBy('A'));
    await t.takeWork(2, ownedBy('B'));
    await t.schedule(inSession(3, 'one'), inSession(4, 'two'));
    await t.takeWork(4, ownedBy('B'));
    await t.expectNoWork(ownedBy('B'));
    await t.takeWork(3, ownedBy('A'));
  });

  check('SE-6', 'who does not own the session passes its item over', async (t) => {
    await ownedWithOneWaiting(t);
    await t.schedule(activityItem('x', 3));
    await t.takeWork(3, ownedBy('B'));
  });

  check('SE-7', 'a session whose lock ended goes to another worker', async (t) => {
    await ownedWithOneWaiting(t);
    t.clock.advance(LOCK_MS);
    await t.takeWork(2, ownedBy('B'));
    await t.schedule(inSession(3));
    await t.expectNoWork(ownedBy('A'));
  });

  check('SE-8', 'without a session configuration only plain items are taken', async (t) => {
    await t.schedule(inSession(1), activityItem('x', 2));
    await t.takeWork(2);
    await t.expectNoWork();
    await t.takeWork(1, ownedBy('A'));
  });

  check('SE-9', 'one owner gets the items of several sessions and plain ones in order', async (t) => {
    await t.schedule(inSession(1, 'a'), inSession(2, 'b'), activityItem('x', 3), inSession(4, 'c'));
    for (const id of [1, 2, 3, 4]) await t.takeWork(id, ownedBy('A'));
    await t.expectNoWork(ownedBy('A'));
  });

  check('SE-10', 'a renewal counts the sessions of its owners', async (t) => {
    await t.schedule(inSession(1, 'one'));
    await t.takeWork(1, ownedBy('A'));
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(1);
    await t.schedule(inSession(2, 'two'));
    await t.takeWork(2, ownedBy('A'));
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(2);
    t.expect(await t.provider.renewSessionLock({ ...renewal('A'), ownerIds: [] })).toBe(0);
  });

  check('SE-11', 'an idle session is not renewed', async (t) => {
    await t.schedule(inSession(1));
    await t.takeWork(1, ownedBy('A'));
    t.expect(await t.provider.renewSessionLock(renewal('A', { idleTimeoutMs: 0 }))).toBe(0);
  });

  check('SE-12', 'an owner without sessions renews none, also not those of others', async (t) => {
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(0);
    await t.schedule(inSession(1));
    await t.takeWork(1, ownedBy('B'));
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(0);
    t.expect(await t.provider.renewSessionLock(renewal('B'))).toBe(1);
  });

  check('SE-13', 'the sweep removes an ended session without items', async (t) => {
    await t.schedule(inSession(1));
    await t.ackWork(await t.takeWork(1, shortSession), activityCompleted('x', 1));
    t.clock.advance(LOCK_MS + 1);
    t.expect(await t.provider.cleanupOrphanedSessions(IDLE_MS)).toBe(1);
    t.expect(await t.provider.cleanupOrphanedSessions(IDLE_MS)).toBe(0);
  });

  check('SE-14', 'the sweep keeps an ended session with queued items', async (t) => {
    await ownedWithOneWaiting(t);
    t.clock.advance(LOCK_MS + 1);
    t.expect(await t.provider.cleanupOrphanedSessions(IDLE_MS)).toBe(0);
  });

  check('SE-15', 'the sweep keeps a session that is locked', async (t) => {
    await t.schedule(inSession(1));
    await t.ackWork(await t.takeWork(1, ownedBy('A')), activityCompleted('x', 1));
    t.expect(await t.provider.cleanupOrphanedSessions(IDLE_MS)).toBe(0);
  });

  check('SE-16', 'an acknowledgement is activity of the session', async (t) => {
    await t.schedule(inSession(1));
    const work = await t.takeWork(1, ownedBy('A'));
    t.clock.advance(250);
    t.expect(await t.provider.renewSessionLock(renewal('A', { idleTimeoutMs: 200 }))).toBe(0);
    await t.ackWork(work, activityCompleted('x', 1));
    t.expect(await t.provider.renewSessionLock(renewal('A', { idleTimeoutMs: 200 }))).toBe(1);
  });

  check('SE-17', 'a renewal of an item is activity of the session', async (t) => {
    await t.schedule(inSession(1));
    const work = await t.takeWork(1, ownedBy('A'));
    t.clock.advance(250);
    t.expect(await t.provider.renewSessionLock(renewal('A', { idleTimeoutMs: 200 }))).toBe(0);
    await t.renewWork(work, LONG_LOCK_MS);
    t.expect(await t.provider.renewSessionLock(renewal('A', { idleTimeoutMs: 200 }))).toBe(1);
  });

  check('SE-18', 'the items of a session come in order', async (t) => {
    await t.schedule(inSession(1), inSession(2), inSession(3));
    for (const id of [1, 2, 3]) {
      await t.ackWork(await t.takeWork(id, ownedBy('A')), activityCompleted('x', id));
    }
    await t.expectNoWork(ownedBy('A'));
  });

  check('SE-19', 'the owner of a session still gets plain items', async (t) => {
    await t.schedule(inSession(1));
    await t.takeWork(1, ownedBy('A'));
    await t.schedule(activityItem('x', 2));
    await t.takeWork(2, ownedBy('A'));
  });

  check('SE-20', 'callers with one owner id share its sessions', async (t) => {
    await ownedWithOneWaiting(t);
    await t.schedule(inSession(3));
    await t.expectNoWork(ownedBy('B'));
    const [one, two] = await Promise.all([t.fetchWork(ownedBy('A')), t.fetchWork(ownedBy('A'))]);
    t.expect([one, two].map((work) => (work?.item as { id?: number } | undefined)?.id).sort()).toEqual([2, 3]);
  });

  check('SE-21', 'while one worker holds a session another gets nothing of it', async (t) => {
    await t.schedule(inSession(1), inSession(2));
    const [a, b] = await Promise.all([t.fetchWork(ownedBy('A')), t.fetchWork(ownedBy('B'))]);
    t.expect([a, b].filter((work) => work !== null)).toHaveLength(1);
    const [winner, loser] = a ? ['A', 'B'] : ['B', 'A'];
    await t.expectNoWork(ownedBy(loser));
    const next = await t.fetchWork(ownedBy(winner));
    t.expect(next?.attemptCount).toBe(1);
  });

  check('SE-22', 'another worker takes an ended session over', async (t) => {
    await ownedWithOneWaiting(t);
    await t.expectNoWork(ownedBy('B'));
    t.clock.advance(LOCK_MS);
    await t.takeWork(2, ownedBy('B'));
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(0);
    t.expect(await t.provider.renewSessionLock(renewal('B'))).toBe(1);
  });

  check('SE-23', 'after the sweep a new item makes the session anyone’s', async (t) => {
    await t.schedule(inSession(1));
    await t.ackWork(await t.takeWork(1, shortSession), activityCompleted('x', 1));
    t.clock.advance(LOCK_MS + 1);
    t.expect(await t.provider.cleanupOrphanedSessions(IDLE_MS)).toBe(1);
    await t.schedule(inSession(2));
    await t.takeWork(2, ownedBy('B'));
  });

  check('SE-24', 'an abandoned item of a session comes back to its worker', async (t) => {
    await t.schedule(inSession(1));
    await t.abandonWork(await t.takeWork(1, ownedBy('A')));
    const again = await t.takeWork(1, ownedBy('A'));
    t.expect(again.attemptCount).toBe(2);
    await t.ackWork(again, activityCompleted('x', 1));
    t.clock.advance(LONG_LOCK_MS);
    await t.expectNoWork(ownedBy('A'));
  });

  check('SE-25', 'abandoning an item of a session can take the attempt back', async (t) => {
    await t.schedule(inSession(1));
    await t.abandonWork(await t.takeWork(1, ownedBy('A')), { ignoreAttempt: true });
    t.expect((await t.takeWork(1, ownedBy('A'))).attemptCount).toBe(1);
  });

  check('SE-26', 'an ended session is not renewed', async (t) => {
    await t.schedule(inSession(1));
    await t.takeWork(1, shortSession);
    t.clock.advance(LOCK_MS);
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(0);
  });

  check('SE-27', 'the former owner may claim an ended session again', async (t) => {
    await ownedWithOneWaiting(t);
    t.clock.advance(LOCK_MS);
    await t.takeWork(2, ownedBy('A'));
    await t.schedule(inSession(3));
    await t.expectNoWork(ownedBy('B'));
  });

  check('SE-28', 'an item whose lock ended stays with the owner of the session', async (t) => {
    await t.schedule(inSession(1));
    await t.takeWork(1, { ...ownedBy('A'), lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    await t.expectNoWork(ownedBy('B'));
    t.expect((await t.takeWork(1, ownedBy('A'))).attemptCount).toBe(2);
  });

  check('SE-29', 'the new owner of an ended session gets what the old one gives back', async (t) => {
    const first = await ownedWithOneWaiting(t);
    t.clock.advance(LOCK_MS);
    await t.takeWork(2, ownedBy('B'));
    await t.abandonWork(first);
    await t.expectNoWork(ownedBy('A'));
    t.expect((await t.takeWork(1, ownedBy('B'))).attemptCount).toBe(2);
  });

  check('SE-30', 'the same worker goes on after its session ended', async (t) => {
    await ownedWithOneWaiting(t);
    t.clock.advance(LOCK_MS);
    await t.takeWork(2, ownedBy('A'));
    t.expect(await t.provider.renewSessionLock(renewal('A'))).toBe(1);
  });

  check('SE-31', 'when both locks ended another worker gets the item', async (t) => {
    await t.schedule(inSession(1));
    await t.takeWork(1, { ...shortSession, lockTimeoutMs: LOCK_MS });
    t.clock.advance(LOCK_MS);
    t.expect((await t.takeWork(1, ownedBy('B'))).attemptCount).toBe(2);
  });

  check('SE-32', 'an item is acknowledged although its session ended', async (t) => {
    await t.create('x');
    await t.schedule(inSession(1));
    const work = await t.takeWork(1, shortSession);
    t.clock.advance(LOCK_MS);
    await t.ackWork(work, activityCompleted('x', 1));
    t.expect((await t.take('x')).messages).toEqual([activityCompleted('x', 1)]);
  });

  check('SE-33', 'a renewed session outlives its first end', async (t) => {
    await t.schedule(inSession(1));
    await t.takeWork(1, ownedBy('A', 1_000));
    await t.schedule(inSession(2));
    t.clock.advance(600);
    t.expect(await t.provider.renewSessionLock(renewal('A', { extendMs: 1_000 }))).toBe(1);
    t.clock.advance(400);
    await t.expectNoWork(ownedBy('B'));
    await t.takeWork(2, ownedBy('A', 1_000));
  });
});

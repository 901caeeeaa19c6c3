import { ProviderError } from '../provider/provider-error.js';
import type { LockedWorkItem } from '../provider/provider.js';
import { checkGroup } from './check.js';
import { activityItem, externalRaised, raisedEvent } from './records.js';
import type { Trial } from './trial.js';
import { eventsOf, LONG_LOCK_MS } from './trial.js';

/** Texts that some part of a database or of a parser stumbles over. */
const brokenTexts = {
  garbage: '{"StartOrchestration": ',
  nul: '{"ExternalRaised":{"instance":"x","name":"a\\u0000b"}}',
  surrogate: '{"ExternalRaised":{"instance":"x","name":"\\ud800"}}',
  unknownKind: '{"TeleportInstance":{"instance":"x"}}',
};

/** How often a message is tried before it is set aside, by default. */
const QUARANTINE_ATTEMPTS = 10;
/** Longer than the pause after which an unreadable message is tried again. */
const RETRY_AFTER_MS = 1_500;

/** Puts a text into the orchestrator queue behind the provider's back. */
async function insertMessage(t: Trial, instance: string, text: string): Promise<void> {
  await t.need('sql')(
    'insert into orchestrator_queue (instance_id, work_item, visible_at, created_at) values ($1, $2, $3::timestamptz, $3::timestamptz)',
    [instance, text, new Date(t.clock.nowMs()).toISOString()],
  );
}

/** Fetches everything that is ready; a provider may report what it could not read by a permanent error. */
async function fetchReadable(t: Trial) {
  try {
    return (await t.provider.fetchOrchestrationItems({ limit: 10, lockTimeoutMs: LONG_LOCK_MS })).items;
  } catch (error) {
    if (!ProviderError.is(error) || error.retryable) throw error;
    return [];
  }
}

async function fetchReadableWork(t: Trial): Promise<LockedWorkItem[]> {
  try {
    return await t.provider.fetchWorkItems({ limit: 10, lockTimeoutMs: LONG_LOCK_MS, tagFilter: { kind: 'any' } });
  } catch (error) {
    if (!ProviderError.is(error) || error.retryable) throw error;
    return [];
  }
}

export const unreadableText = checkGroup('unreadable text', (check) => {
  check('XR-1', 'reading a history with an unreadable event is an error, never a shorter list', async (t) => {
    const x = await t.create('x');
    await t.sut.corruptHistory('x');
    await x.turn({ events: [raisedEvent('readable')] });
    const admin = t.provider.asManagement();
    const text = /Failed to deserialize event/;
    await t.fails(t.provider.read('x'), text);
    await t.fails(t.provider.readWithExecution('x', 1), text);
    await t.fails(admin.readHistory('x'), text);
    await t.fails(admin.readHistoryWithExecutionId('x', 1), text);
  });

  check('XR-2', 'text of one instance that nobody can parse stops no other instance', async (t) => {
    const sql = t.need('sql');
    const broken = Object.entries(brokenTexts).map(([kind, text]) => [t.unique(kind), text] as const);
    const healthy = t.unique('healthy');
    for (const [id] of broken) await t.create(`history-${id}`);
    await t.create(healthy);
    for (const [id, text] of broken) {
      await sql('update history set event_data = $1 where instance_id = $2', [text, `history-${id}`]);
      await t.poke(`history-${id}`);
      await insertMessage(t, `message-${id}`, text);
    }
    await t.poke(healthy);
    const items = [...(await fetchReadable(t)), ...(await fetchReadable(t))];
    t.expect(items.map(({ instance }) => instance)).toContain(healthy);
    for (const [id] of broken) {
      const item = items.find(({ instance }) => instance === `history-${id}`);
      t.expect(item?.historyError).toMatch(/^Failed to deserialize history: /);
      if (item) t.expect(eventsOf(item)).toEqual([]);
    }
  });

  check('XR-14', 'a message that cannot be read is set aside, and its instance goes on', async (t) => {
    const x = t.unique('x');
    await t.create(x);
    await insertMessage(t, x, brokenTexts.unknownKind);
    await t.poke(x);
    let fetches = 0;
    let [item] = await fetchReadable(t);
    for (fetches = 1; item === undefined && fetches <= QUARANTINE_ATTEMPTS + 2; fetches++) {
      t.clock.advance(RETRY_AFTER_MS);
      [item] = await fetchReadable(t);
    }
    t.expect(fetches).toBeGreaterThanOrEqual(QUARANTINE_ATTEMPTS);
    t.expect(item?.messages).toEqual([externalRaised(x)]);
    const aside = await t.need('sql')(
      "select lock_token from orchestrator_queue where instance_id = $1 and visible_at > '9000-01-01T00:00:00Z'::timestamptz",
      [x],
    );
    t.expect(aside).toEqual([{ lock_token: null }]);
  });

  check('XR-14/worker', 'a worker item that cannot be read is set aside, and the others go on', async (t) => {
    const sql = t.need('sql');
    await sql(
      'insert into worker_queue (work_item, visible_at, created_at) values ($1, $2::timestamptz, $2::timestamptz)',
      [brokenTexts.unknownKind, new Date(t.clock.nowMs()).toISOString()],
    );
    await t.schedule(activityItem('x', 2));
    const got: LockedWorkItem[] = [];
    const aside = () =>
      sql("select lock_token from worker_queue where visible_at > '9000-01-01T00:00:00Z'::timestamptz");
    let fetches = 0;
    while ((await aside()).length === 0 && fetches < QUARANTINE_ATTEMPTS + 2) {
      got.push(...(await fetchReadableWork(t)));
      fetches += 1;
      // Beyond the lock as well: a provider may leave the row locked meanwhile.
      t.clock.advance(got.length === 0 ? RETRY_AFTER_MS : LONG_LOCK_MS);
      for (const work of got.splice(0)) await t.abandonWork(work, { ignoreAttempt: true });
    }
    t.expect(fetches).toBeGreaterThanOrEqual(QUARANTINE_ATTEMPTS);
    t.expect(await aside()).toEqual([{ lock_token: null }]);
    await t.takeWork(2);
  });
});

const assert = require('node:assert/strict');

const DAY_MS = 24 * 3_600_000;

/** The testing kit: time that is skipped, mocks, a crash, and histories against changed code. */
exports.useKit = async function useKit({ activity, orchestration }, { TestEnvironment, replay }, options = {}) {
  const charge = activity('charge', (_ctx, cents) => `charged ${cents}`);
  const subscribe = orchestration('subscribe', async (ctx, cents) => {
    await ctx.sleep(30 * DAY_MS);
    return ctx.call(charge, cents);
  });
  const env = await TestEnvironment.create({ ...options, definitions: [subscribe, charge] });
  try {
    const beganAtMs = env.clock.nowMs();
    assert.equal(await env.run(subscribe, 5), 'charged 5');
    assert.equal(env.clock.nowMs() - beganAtMs, 30 * DAY_MS);

    let charges = 0;
    env.mock(charge, () => `charge ${++charges}`);
    const crash = env.crashBefore(charge);
    assert.equal(await env.run(subscribe, 7, { id: 'sub-7' }), 'charge 2');
    assert.equal(crash.happened, true);

    const history = await env.history('sub-7');
    assert.equal((await replay(subscribe, history)).state, 'completed');
    const changed = orchestration('subscribe', async (ctx, cents) => ctx.call(charge, cents));
    await assert.rejects(replay(changed, history), { name: 'ReplayMismatchError' });
  } finally {
    await env.close();
  }
};

/**
 * What runs on the golden databases: one program per thing that a history can hold. Written
 * once and never changed, because histories of old releases are replayed by it; a new
 * feature gets a new program, which older folders do not have.
 */

const HALF = 'half';

/** @type {Record<string, (ctx: any, input: any) => any>} */
export const activities = {
  Add: (_ctx, [a, b]) => a + b,
  Fail: (_ctx, text) => {
    throw new Error(text);
  },
};

/** Each waits in its middle for the event `go`. @type {Record<string, (ctx: any, input: any) => Generator>} */
export const orchestrations = {
  *Sequence(ctx, n) {
    let sum = 0;
    for (let i = 1; i <= n; i++) sum = yield ctx.scheduleActivity('Add', [sum, i]);
    ctx.setCustomStatus(HALF);
    const more = yield ctx.waitForEvent('go');
    return yield ctx.scheduleActivity('Add', [sum, more]);
  },
  *FanOut(ctx, n) {
    const tasks = Array.from({ length: n }, (_, i) => ctx.scheduleActivity('Add', [i, i]));
    const results = yield ctx.all(tasks);
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    return results.map(({ ok }) => ok);
  },
  *Parent(ctx) {
    const child = yield ctx.scheduleSubOrchestration('Sequence', 2);
    return ['child', child];
  },
  *State(ctx) {
    ctx.setValue('a', '1');
    ctx.setValue('b', '2');
    ctx.clearValue('b');
    const guid = yield ctx.newGuid();
    const now = yield ctx.utcNow();
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    ctx.setValue('c', '3');
    return [ctx.getKvAllValues(), typeof guid, typeof now, ctx.getCustomStatus()];
  },
  *Loop(ctx, n) {
    const message = yield ctx.dequeueEvent('mail');
    ctx.setValue(`message ${n}`, message);
    if (n > 1) return yield ctx.continueAsNew(n - 1);
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    return ctx.getKvAllValues();
  },
  *Races(ctx) {
    const first = yield ctx.race(ctx.scheduleActivity('Add', [1, 1]), ctx.scheduleTimer(86_400_000 * 365));
    const second = yield ctx.race(ctx.waitForEvent('never'), ctx.scheduleTimer(1));
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    return [first.index, second.index];
  },
  *Failures(ctx) {
    const caught = [];
    try {
      yield ctx.scheduleActivity('Fail', 'one');
    } catch (error) {
      caught.push(String(error.message).includes('one'));
    }
    try {
      yield ctx.scheduleActivityWithRetry('Fail', 'two', { maxAttempts: 2, backoff: 'fixed' });
    } catch (error) {
      caught.push(String(error.message).includes('two'));
    }
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    return caught;
  },
  *Routes(ctx) {
    const inSession = yield ctx.scheduleActivityOnSession('Add', [2, 2], 'session');
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    return [inSession, yield ctx.scheduleActivity('Add', [3, 3]).withTag('later')];
  },
  *Detached(ctx) {
    yield ctx.startOrchestration('Sequence', 'detached', 3);
    ctx.setCustomStatus(HALF);
    yield ctx.waitForEvent('go');
    return 'detached';
  },
};

/** What later folders have beside the others: a timer that runs and a schedule. @type {typeof orchestrations} */
export const laterOrchestrations = {
  *Sleeps(ctx, ms) {
    const value = yield ctx.scheduleActivityOnSession('Add', [20, 1], 'sleeper');
    yield ctx.scheduleTimer(ms);
    return yield ctx.scheduleActivityOnSession('Add', [value, value], 'sleeper');
  },
  // eslint-disable-next-line require-yield -- as recorded: it ends at once
  *Tick(_ctx, input) {
    return input;
  },
};

/** What folders with start queues have beside those. @type {typeof orchestrations} */
export const queuedOrchestrations = {
  *Queued(ctx, input) {
    if (input === 'fails') yield ctx.scheduleActivity('Fail', 'queued');
    if (input === 'ends') return 'ended';
    ctx.setCustomStatus(HALF);
    return yield ctx.dequeueEvent('go');
  },
};

/** The timer of `sleeps` is set to some time after the recording. */
export const sleeper = { id: 'sleeps', name: 'Sleeps', input: 60_000, output: 42 };
export const schedule = { id: 'nightly', orchestration: 'Tick', input: 'tick', cron: '0 2 * * *', timeZone: 'UTC' };

/** Starts what later folders have. Resolves when the timer runs. @param {any} client */
export async function startLater(client) {
  await client.startOrchestration(sleeper.id, sleeper.name, sleeper.input);
  await client.schedules.create(schedule);
  await client.waitForOrchestration(await client.schedules.trigger(schedule.id), 60_000);
  while (!(await client.readExecutionHistory(sleeper.id, 1)).some(({ kind }) => kind === 'TimerCreated')) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Two of `queued` run, each of a key, and both hold up the others; `hourly` has had its start of the hour. */
export const queues = [
  { id: 'queued', concurrency: 2, concurrencyPerKey: 1 },
  { id: 'hourly', rate: { limit: 1, periodMs: 3_600_000 } },
  { id: 'parked', paused: true },
];

/** In the order in which they were started. `output` is absent for the one that fails, `go` where it came before its turn. */
export const queuedStarts = [
  { id: 'queued-ended', input: 'ends', queue: 'queued', key: 'a', is: 'ended', output: 'ended' },
  { id: 'queued-failed', input: 'fails', queue: 'queued', key: 'b', is: 'ended' },
  { id: 'hourly-ended', input: 'ends', queue: 'hourly', is: 'ended', output: 'ended' },
  { id: 'queued-a-runs', queue: 'queued', key: 'a', is: 'running', output: 1 },
  { id: 'queued-b-runs', queue: 'queued', key: 'b', is: 'running', output: 2 },
  { id: 'queued-a-last', queue: 'queued', key: 'a', priority: -1, is: 'waiting', output: 3 },
  { id: 'queued-a-first', queue: 'queued', key: 'a', priority: 7, is: 'waiting', go: 4, output: 4 },
  { id: 'queued-c', input: 'ends', queue: 'queued', key: 'c', is: 'waiting', output: 'ended' },
  { id: 'queued-keyless', input: 'ends', queue: 'queued', is: 'waiting', output: 'ended' },
  { id: 'hourly-waits', input: 'ends', queue: 'hourly', is: 'waiting', output: 'ended' },
  { id: 'parked-waits', queue: 'parked', priority: 3, is: 'waiting', output: 5 },
];

/** Resolves when those that end have ended, those that run stand in their middle, and the others wait. @param {any} client */
export async function startQueued(client) {
  const definition = { kind: 'orchestration', name: 'Queued', options: {} };
  for (const queue of queues) await client.startQueues.create(queue);
  for (const { id, input = null, queue, key, priority, is, go } of queuedStarts) {
    await client.start(definition, input, { id, queue, key, priority });
    if (go !== undefined) await client.enqueueEvent(id, 'go', go);
    if (is === 'ended') await client.waitForOrchestration(id, 60_000);
    while (is === 'running' && (await client.getStatus(id)).customStatus !== HALF) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** Who is started, with what, and what it ends with once it got `go`. */
export const instances = [
  { id: 'sequence', name: 'Sequence', input: 4, go: 100, output: 110 },
  { id: 'fan-out', name: 'FanOut', input: 12, go: 1, output: Array.from({ length: 12 }, (_, i) => 2 * i) },
  { id: 'parent', name: 'Parent', input: null, child: 'parent::sub::2', go: 5, output: ['child', 8] },
  { id: 'state', name: 'State', input: null, go: 1, output: [{ a: '1', c: '3' }, 'string', 'number', HALF] },
  {
    id: 'loop',
    name: 'Loop',
    input: 3,
    mail: ['x', 'y', 'z'],
    go: 1,
    output: { 'message 3': 'x', 'message 2': 'y', 'message 1': 'z' },
  },
  { id: 'races', name: 'Races', input: null, go: 1, output: [0, 1] },
  { id: 'failures', name: 'Failures', input: null, go: 1, output: [true, true] },
  { id: 'routes', name: 'Routes', input: null, go: 1, output: [4, 6] },
  { id: 'detaches', name: 'Detached', input: null, go: 1, output: 'detached' },
];

/** @param {any} runtime */
export function register(runtime) {
  for (const [name, run] of Object.entries(activities)) runtime.registerActivity(name, run);
  for (const [name, run] of Object.entries({ ...orchestrations, ...laterOrchestrations, ...queuedOrchestrations })) {
    runtime.registerOrchestration(name, run);
  }
}

/** Starts all, and resolves when each stands in its middle. @param {any} client */
export async function startAll(client, prefix = '') {
  for (const { id, name, input, mail = [] } of instances) {
    await client.startOrchestration(prefix + id, name, input);
    for (const message of mail) await client.enqueueEvent(prefix + id, 'mail', message);
  }
  for (const { id, child } of instances) {
    const at = prefix + (child ?? id);
    for (;;) {
      const { customStatus } = await client.getStatus(at);
      if (customStatus === HALF) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** Sends `go` to all, and answers with what they end with. @param {any} client */
export async function finishAll(client, prefix = '') {
  const outputs = {};
  for (const { id, child, go } of instances) await client.raiseEvent(prefix + (child ?? id), 'go', go);
  for (const { id } of instances) {
    const { status, output, error } = await client.waitForOrchestration(prefix + id, 60_000);
    outputs[id] = status === 'Completed' ? output : { status, error };
  }
  return outputs;
}

export const expectedOutputs = Object.fromEntries(instances.map(({ id, output }) => [id, output]));

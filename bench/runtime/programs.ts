import type { ActivityFunction, DurableRuntime, OrchestrationFunction } from '../../test/oracle/sdk.js';

/** The orchestrations of all scenarios. */
const orchestrations: Readonly<Record<string, OrchestrationFunction>> = {
  /** One activity. */
  hello: function* (ctx, input) {
    return yield ctx.scheduleActivity('echo', input);
  },
  /** `width` activities at once. */
  fanOut: function* (ctx, input) {
    const { width, activity, input: each } = input as { width: number; activity: string; input: unknown };
    yield ctx.all(Array.from({ length: width }, () => ctx.scheduleActivity(activity, each)));
    return width;
  },
  /** `length` activities one after the other. */
  chain: function* (ctx, input) {
    let value: unknown = 0;
    for (let step = 0; step < Number(input); step++) value = yield ctx.scheduleActivity('echo', step);
    return value;
  },
  /** Waits for an event that never comes. */
  waiting: function* (ctx) {
    return yield ctx.waitForEvent('never');
  },
};

/** What the activities of this process did so far. */
export const ran = { activities: 0 };

const activities: Readonly<Record<string, ActivityFunction>> = {
  echo: (_ctx, input) => {
    ran.activities++;
    return input;
  },
  nap: async (_ctx, input) => {
    ran.activities++;
    await new Promise((resolve) => setTimeout(resolve, Number(input)));
    return null;
  },
};

export function registerPrograms(runtime: DurableRuntime): void {
  for (const [name, fn] of Object.entries(orchestrations)) runtime.registerOrchestration(name, fn);
  for (const [name, fn] of Object.entries(activities)) runtime.registerActivity(name, fn);
}

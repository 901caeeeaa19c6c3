import { activityScenarios } from './activities.js';
import { childScenarios } from './children.js';
import { eventScenarios } from './events.js';
import { failureScenarios } from './failures.js';
import type { Scenario } from './scenario.js';
import { stateScenarios } from './state.js';

export * from './scenario.js';

/** Directed programs: at least one for every primitive. */
export const scenarios: readonly Scenario[] = [
  ...activityScenarios,
  ...eventScenarios,
  ...childScenarios,
  ...stateScenarios,
  ...failureScenarios,
];

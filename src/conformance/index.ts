/**
 * What every provider must do, as tests for jest or vitest:
 *
 * ```ts
 * import { describe, expect, test } from 'vitest';
 * import { describeProvider } from 'duroxide-drizzle/conformance';
 *
 * describeProvider({ name: 'MyProvider', open: openMyProvider, runner: { describe, test, expect } });
 * ```
 */
export { type Check, type CheckGroup } from './check.js';
export {
  administrationGroups,
  conformanceGroups,
  describeAdministration,
  describeProvider,
  type DescribeProvider,
} from './describe-provider.js';
export type {
  ForeignTransaction,
  FreshStart,
  LossyProvider,
  NativePeer,
  OptionalHelper,
  ProviderUnderTest,
  Skip,
  Skips,
  UserTransactions,
} from './provider-under-test.js';
export type { Assertion, Expect, Matchers, TestRunner } from './runner.js';
export { FakeClock } from '../base/clock.js';

/** `duroxide-drizzle/testing`: what tests of applications need. */
export { FakeClock } from '../base/clock.js';
export type { CrashAt, PlannedCrash } from './environment/crash-points.js';
export type { OpenStore, TestStore } from './environment/open-store.js';
export { TestEnvironment, type TestEnvironmentOptions } from './environment/test-environment.js';
export { createTestDatabase, type TestDatabase } from './pg-mem/create-test-database.js';
export {
  type HistorySource,
  recordHistory,
  type RecordedHistory,
  type RecordedValues,
} from './replay/recorded-history.js';
export { replay, type ReplayOptions, type ReplayReport } from './replay/replay.js';
export { type Mismatch, ReplayMismatchError } from './replay/replay-mismatch-error.js';

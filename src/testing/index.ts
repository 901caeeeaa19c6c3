/** `duroxide-drizzle/testing`: what tests of applications need. */
export { FakeClock } from '../base/clock.js';
export { createTestDatabase, type TestDatabase } from './pg-mem/create-test-database.js';

/** `duroxide-drizzle/testing`: what tests of applications need. */
export { FakeClock } from '../base/clock.js';

import { TestEnvironment } from 'jest-environment-node';
import { pgliteParts } from './parts.mjs';

/** Node's own environment. It hands test files what they share with the ones that their process ran before. */
export default class extends TestEnvironment {
  constructor(...args) {
    super(...args);
    this.global.ddzPgliteParts = pgliteParts;
  }
}

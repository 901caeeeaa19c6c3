/** Jest runs as ESM: `node --experimental-vm-modules node_modules/jest/bin/jest.js`. */
export default {
  testEnvironment: '<rootDir>/test/support/pglite/environment.mjs',
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '<rootDir>/\\.tmp/', '<rootDir>/test/consumer/projects/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/\\.tmp/', '<rootDir>/test/consumer/projects/'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // A start costs seconds: what can be shared between the files of a process is.
    '^@electric-sql/pglite$': '<rootDir>/test/support/pglite/index.ts',
  },
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  // Guards against hanging only: a busy machine is no failure.
  testTimeout: 300_000,
  maxWorkers: 2,
  // Modules of ended test files are never given back under ESM: a fresh process is cheaper than a full one.
  workerIdleMemoryLimit: '700MB',
};

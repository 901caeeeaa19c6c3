module.exports = {
  preset: 'ts-jest',
  testEnvironment: 'node',
  rootDir: __dirname,
  testTimeout: 60_000,
  // The sources name each other as they will be called when they are compiled.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
};

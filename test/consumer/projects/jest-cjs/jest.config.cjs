module.exports = { preset: 'ts-jest', testEnvironment: 'node', rootDir: __dirname, testTimeout: 60_000 };

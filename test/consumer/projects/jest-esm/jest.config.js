export default { testEnvironment: 'node', transform: {}, rootDir: import.meta.dirname, testTimeout: 60_000 };

import { defineConfig, type Options } from 'tsup';

/** The entry points of the `exports` map in `package.json`. */
const entries: Record<string, string> = {
  index: 'src/index.ts',
  schema: 'src/schema/index.ts',
  testing: 'src/testing/index.ts',
  conformance: 'src/conformance/index.ts',
  otel: 'src/otel/index.ts',
  dashboard: 'src/dashboard/index.ts',
  eslint: 'src/eslint/index.ts',
};

/** The command line: run by Node itself, so that one format is enough. */
const programs = { cli: 'src/cli/bin.ts' };

/** The program of a thread, which the code looks for beside itself; nobody imports it. */
const threads = { 'lock-thread-worker': 'src/provider/drizzle/lock-thread/lock-thread-worker.ts' };

const shared: Options = {
  entry: { ...entries, ...threads },
  target: 'node20',
  platform: 'node',
  // No maps: they were more than half of the package. The code is not minified, so a stack trace names the
  // function and a line that can be read, below a comment with its source file.
  sourcemap: false,
  // Entries share chunks: a class exists once per format, so `instanceof` holds across entries.
  splitting: true,
  treeshake: false,
  tsconfig: 'tsconfig.json',
  // Peers are never bundled; tsup finds them in package.json, this list guards against a careless edit there.
  external: ['drizzle-orm', 'pg', 'postgres', '@electric-sql/pglite', 'pg-mem', '@jest/globals', '@opentelemetry/api'],
};

export default defineConfig([
  { ...shared, entry: { ...entries, ...threads, ...programs }, format: 'esm' },
  // `uuid` is ESM only: a `require` of it fails inside a CommonJS jest. The shim is `import.meta.url`,
  // by which the dashboard finds its front end.
  { ...shared, format: 'cjs', noExternal: ['uuid'], shims: true },
  // The types for both, from one run of the compiler.
  { ...shared, format: ['esm', 'cjs'], dts: { entry: entries, only: true } },
]);

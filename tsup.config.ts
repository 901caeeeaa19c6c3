import { defineConfig, type Options } from 'tsup';

/** The entry points of the `exports` map in `package.json`. */
const entries: Record<string, string> = {
  index: 'src/index.ts',
  schema: 'src/schema/index.ts',
  testing: 'src/testing/index.ts',
  conformance: 'src/conformance/index.ts',
};

const shared: Options = {
  entry: entries,
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  // Entries share chunks: a class exists once per format, so `instanceof` holds across entries.
  splitting: true,
  treeshake: false,
  tsconfig: 'tsconfig.json',
  // Peers are never bundled; tsup finds them in package.json, this list guards against a careless edit there.
  external: ['drizzle-orm', 'pg', 'postgres', '@electric-sql/pglite', 'pg-mem', '@jest/globals'],
};

export default defineConfig([
  { ...shared, format: 'esm' },
  // `uuid` is ESM only: a `require` of it fails inside a CommonJS jest.
  { ...shared, format: 'cjs', noExternal: ['uuid'] },
  // The types for both, from one run of the compiler.
  { ...shared, format: ['esm', 'cjs'], dts: { entry: entries, only: true } },
]);

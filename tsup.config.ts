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
  { ...shared, format: 'esm', dts: { entry: entries } },
  {
    ...shared,
    format: 'cjs',
    dts: { entry: entries },
    // ESM only: a `require` of it fails before Node 20.19 and inside a CommonJS jest.
    noExternal: ['uuid'],
  },
]);

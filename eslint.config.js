import js from '@eslint/js';
import boundaries from 'eslint-plugin-boundaries';
import tseslint from 'typescript-eslint';

/** The layers, in the order in which they are matched, and what each may import: arrows point down only. */
const layers = {
  base: { pattern: 'src/base', imports: [] },
  wire: { pattern: 'src/wire', imports: ['base'] },
  schema: { pattern: 'src/schema', imports: ['wire', 'base'] },
  'provider-drizzle': { pattern: 'src/provider/drizzle', imports: ['provider', 'schema', 'wire', 'base'] },
  'provider-stored-function': {
    pattern: 'src/provider/stored-function',
    // The operations without a stored function are the same Drizzle queries in both (provider.md 3.4.11).
    imports: ['provider', 'provider-drizzle', 'schema', 'wire', 'base'],
  },
  provider: { pattern: 'src/provider', imports: ['wire', 'base'] },
  replay: { pattern: 'src/runtime/replay', imports: ['wire', 'base'] },
  // Fire times of schedules and what follows from them: pure, for the client and the runtime.
  schedule: { pattern: 'src/schedule', imports: ['provider', 'wire', 'base'] },
  runtime: { pattern: 'src/runtime', imports: ['schedule', 'replay', 'provider', 'client', 'wire', 'base'] },
  client: { pattern: 'src/client', imports: ['schedule', 'provider', 'wire', 'base'] },
  typed: { pattern: 'src/typed', imports: ['client', 'runtime', 'replay', 'provider', 'wire', 'base'] },
  otel: { pattern: 'src/otel', imports: ['provider', 'wire', 'base'] },
  conformance: { pattern: 'src/conformance', imports: ['provider', 'wire', 'base'] },
  dashboard: { pattern: 'src/dashboard', imports: ['client', 'provider', 'wire', 'base'] },
  // Looks at the tables themselves, and replays what they hold.
  doctor: {
    pattern: 'src/doctor',
    imports: ['client', 'runtime', 'replay', 'provider', 'provider-drizzle', 'schema', 'wire', 'base'],
  },
  eslint: { pattern: 'src/eslint', imports: [] },
  // What composes the real parts, and is imported by nothing below it.
  cli: { pattern: 'src/cli', imports: 'all' },
  testing: { pattern: 'src/testing', imports: 'all' },
  'public-api': { pattern: 'src', imports: 'all' },
};
const names = Object.keys(layers);

/** The rule that keeps a layer from importing what is not below it. */
function policyOf(from) {
  const { imports } = layers[from];
  const disallowed = names.filter((to) => to !== from && imports !== 'all' && !imports.includes(to));
  return {
    from: { element: { type: from } },
    disallow: disallowed.map((to) => ({ to: { element: { type: to } } })),
    message: `${from} may import ${imports === 'all' ? 'anything' : imports.join(', ') || 'nothing'}: move the type down, not the arrow up`,
  };
}

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      'drizzle/**',
      'coverage/**',
      '.tmp/**',
      'test/consumer/projects/**',
      // Its packages are installed only by who wants to compare.
      'bench/rivals/**',
      'src/schema/migrations.generated.ts',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    plugins: { boundaries },
    settings: {
      'import/resolver': { typescript: true },
      'boundaries/elements': names.map((type) => ({ type, pattern: layers[type].pattern, partialMatch: false })),
    },
    rules: {
      'boundaries/dependencies': [
        'error',
        { default: 'allow', policies: names.filter((name) => layers[name].imports !== 'all').map(policyOf) },
      ],
      // Drivers are optional peers: whoever needs one loads it with `import()` when it is asked for.
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(pg|postgres|@electric-sql/pglite|pg-mem|drizzle-orm/(?!pg-core$).*)$',
              allowTypeImports: true,
              message: 'an optional peer is loaded when it is needed, or imported as a type',
            },
          ],
        },
      ],
    },
  },
  {
    // Orchestrations of the drop-in API are written without types, and users throw and return anything.
    files: [
      'test/runtime/*.ts',
      'test/runtime/scenarios/**/*.ts',
      'test/doctor/*.ts',
      'test/faults/**/*.ts',
      'test/client/**/*.ts',
      'test/cli/*.ts',
      'test/dashboard/*.ts',
      'test/hostile/*.ts',
      'test/testing/*.ts',
      'test/upgrade/*.ts',
    ],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      'require-yield': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        Buffer: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        globalThis: 'readonly',
      },
    },
  },
);

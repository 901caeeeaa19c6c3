/** `duroxide-drizzle/eslint`: a plugin for ESLint's flat configuration. */
import type { ESLint, Linter } from 'eslint';
import { noRawNondeterminism } from './no-raw-nondeterminism.js';

const rules = { 'no-raw-nondeterminism': noRawNondeterminism };
const plugin: ESLint.Plugin = { meta: { name: 'duroxide-drizzle' }, rules };
const recommended: Linter.Config = {
  plugins: { 'duroxide-drizzle': plugin },
  rules: { 'duroxide-drizzle/no-raw-nondeterminism': 'error' },
};

/**
 * The plugin, with its configuration: `import duroxide from 'duroxide-drizzle/eslint'` and
 * `duroxide.configs.recommended` as an element of the configuration.
 */
const duroxide: ESLint.Plugin & { readonly configs: { readonly recommended: Linter.Config } } = {
  ...plugin,
  configs: { recommended },
};
export default duroxide;

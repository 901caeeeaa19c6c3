export { StoredFunctionProvider } from './stored-function-provider.js';

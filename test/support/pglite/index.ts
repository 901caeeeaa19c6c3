/**
 * Stands for the package `@electric-sql/pglite` in tests: what is in memory starts from parts
 * that all test files of a process share. Directories are made as ever.
 */
import { PGlite as RealPGlite, type PGliteOptions } from '../../../node_modules/@electric-sql/pglite/dist/index.js';

export * from '../../../node_modules/@electric-sql/pglite/dist/index.js';

/** Given by the environment, and of the realm. The types of Node know `WebAssembly` as a namespace of types only. */
const { ddzPgliteParts, WebAssembly } = globalThis as unknown as {
  ddzPgliteParts: () => PGliteOptions & { readonly wasm: Uint8Array };
  WebAssembly: { Module: new (wasm: Uint8Array) => WebAssembly.Module };
};

let startOptions: PGliteOptions | undefined;

type Given = readonly [(string | PGliteOptions | undefined)?, (PGliteOptions | undefined)?];

export class PGlite extends RealPGlite {
  constructor(...given: Given) {
    super(optionsOf(given));
  }

  static override async create<T>(...given: Given): Promise<T> {
    const database = new this(...given);
    await database.waitReady;
    return database as T;
  }
}

function optionsOf([first, second]: Given): PGliteOptions {
  const options = typeof first === 'string' ? { ...second, dataDir: first } : { ...first };
  return options.dataDir === undefined ? { ...inMemory(), ...options } : options;
}

function inMemory(): PGliteOptions {
  if (startOptions) return startOptions;
  const { wasm, ...options } = ddzPgliteParts();
  // The process has it compiled already; but PGlite wants an instance of this realm's class.
  return (startOptions = { ...options, pgliteWasmModule: new WebAssembly.Module(wasm) });
}

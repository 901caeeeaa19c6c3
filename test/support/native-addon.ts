import { createRequire } from 'node:module';

/** The part of native duroxide's addon that makes a schema. */
export interface NativeAddon {
  readonly JsPostgresProvider: {
    /** Migrates the schema to level 23, or refuses it as native does. */
    connectWithSchema(url: string, schema: string): Promise<unknown>;
  };
}

/** Native duroxide, where it is installed: Linux x64 with glibc. Tests that need it skip elsewhere. */
export function loadNativeAddon(): NativeAddon | undefined {
  try {
    const require = createRequire(new URL('../oracle/package.json', import.meta.url));
    return require('duroxide-linux-x64-gnu') as NativeAddon;
  } catch {
    return undefined;
  }
}

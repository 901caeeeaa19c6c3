import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A file of the front end. */
export interface Asset {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The built front end: its files by name, and those that the page begins with. */
export interface DashboardAssets {
  readonly files: ReadonlyMap<string, Asset>;
  readonly script: string;
  readonly theme: string;
  readonly style: string;
  readonly icon: string;
}

/** What the build of the front end leaves: names with a hash of the content, and texts, or base64 behind `data:base64,`. */
export interface BuiltAssets {
  readonly entries: { readonly script: string; readonly theme: string; readonly style: string; readonly icon: string };
  readonly files: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Of the build, beside the module that runs; all in one file, so that a package without it is found out at once. */
const BUILT = 'dashboard/assets.json';

const BINARY = 'data:base64,';

let loaded: Promise<DashboardAssets> | undefined;

/**
 * The front end that belongs to the code which runs: the one of the package, or, in a
 * checkout, one that is made on the spot.
 * @throws Error that says how to build it
 */
export function loadAssets(): Promise<DashboardAssets> {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined; // the next one may find it
    throw error;
  });
  return loaded;
}

async function load(): Promise<DashboardAssets> {
  const here = fileURLToPath(import.meta.url);
  const built = here.endsWith('.ts') ? await buildFromSource(here) : await readBuilt(path.dirname(here));
  const files = new Map<string, Asset>();
  for (const [name, text] of Object.entries(built.files)) {
    const type = TYPES[path.extname(name)] ?? 'application/octet-stream';
    files.set(name, { type, body: bytesOf(text) });
  }
  return { files, ...built.entries };
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return text.startsWith(BINARY)
    ? Uint8Array.from(Buffer.from(text.slice(BINARY.length), 'base64'))
    : new TextEncoder().encode(text);
}

async function readBuilt(directory: string): Promise<BuiltAssets> {
  const file = path.join(directory, BUILT);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as BuiltAssets;
  } catch (cause) {
    throw new Error(`dashboard: the built front end is not at ${file}; install the package anew, or npm run build`, {
      cause,
    });
  }
}

/** Only the checkout has the sources and the bundler: no import that a build of ours would follow. */
async function buildFromSource(here: string): Promise<BuiltAssets> {
  const script = path.resolve(path.dirname(here), '../../scripts/build-dashboard.mjs');
  const { buildDashboard } = (await import(pathToFileURL(script).href)) as {
    buildDashboard: () => Promise<BuiltAssets>;
  };
  return buildDashboard();
}

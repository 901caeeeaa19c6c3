// Bundles the front end of the dashboard: `src/dashboard/web` → one JSON file with every file of it.
// Run as a program it writes `dist/dashboard/assets.json`; a checkout without a build imports it.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const web = path.join(root, 'src/dashboard/web');

/**
 * @returns {Promise<{ entries: Record<string, string>, files: Record<string, string> }>} names with a hash, and
 *   texts; what is no text in base64 behind `data:base64,`
 */
export async function buildDashboard() {
  const result = await build({
    entryPoints: {
      app: path.join(web, 'main.tsx'),
      theme: path.join(web, 'theme-at-once.ts'),
      style: path.join(web, 'styles/index.css'),
    },
    bundle: true,
    minify: true,
    write: false,
    outdir: '/',
    entryNames: '[name]-[hash]',
    format: 'esm',
    platform: 'browser',
    target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    loader: { '.woff2': 'file' },
    assetNames: '[name]-[hash]',
    publicPath: '',
    absWorkingDir: root,
    tsconfig: path.join(web, 'tsconfig.json'),
    logLevel: 'silent',
  });
  await stop(); // its process would keep a test worker alive
  const isText = (file) => /\.(js|css|svg)$/.test(file.path);
  const files = Object.fromEntries(
    result.outputFiles.map((file) => [
      path.basename(file.path),
      isText(file) ? file.text : `data:base64,${Buffer.from(file.contents).toString('base64')}`,
    ]),
  );
  const icon = readFileSync(path.join(web, 'icon.svg'), 'utf8');
  const iconName = `icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`;
  files[iconName] = icon;
  const named = (name, extension) => {
    const found = Object.keys(files).find((file) => file.startsWith(`${name}-`) && file.endsWith(extension));
    if (found === undefined) throw new Error(`the build made no ${name}${extension}`);
    return found;
  };
  return {
    entries: {
      script: named('app', '.js'),
      theme: named('theme', '.js'),
      style: named('style', '.css'),
      icon: iconName,
    },
    files,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = path.join(root, 'dist/dashboard');
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, 'assets.json'), JSON.stringify(await buildDashboard()));
}

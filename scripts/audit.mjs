/**
 * Asks the registry for known advisories about what the lock file pins, and fails on high
 * and critical ones. An audit service that cannot be reached is reported and is no failure,
 * unless `--strict` is given: it says nothing about the packages.
 *
 *     npm run audit:dependencies
 */
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const FAILING = ['high', 'critical'];

/**
 * What the output of `npm audit --json` means.
 * @param {string} output
 * @returns {{ kind: 'clean', lower: number } | { kind: 'vulnerable', found: string[] } | { kind: 'unreachable', reason: string }}
 */
export function judge(output) {
  let report;
  try {
    report = JSON.parse(output);
  } catch {
    return { kind: 'unreachable', reason: 'npm audit printed no JSON' };
  }
  // A registry without the service answers 404 or 405, and npm with this shape.
  if (report.error || report.message || !report.vulnerabilities) {
    const reason = report.error?.summary || report.error?.code || report.message || 'no vulnerabilities in the answer';
    return { kind: 'unreachable', reason: String(reason).split('\n')[0] };
  }
  const all = Object.values(report.vulnerabilities);
  const failing = all.filter(({ severity }) => FAILING.includes(severity));
  if (failing.length === 0) return { kind: 'clean', lower: all.length };
  return {
    kind: 'vulnerable',
    found: failing.map(({ name, severity, via, range }) => {
      const why = via.map((one) => (typeof one === 'string' ? `through ${one}` : `${one.title} (${one.url})`));
      return `${severity}: ${name} ${range}: ${why.join('; ')}`;
    }),
  };
}

/** @param {string[]} args */
function main(args) {
  const strict = args.includes('--strict');
  const { stdout, error } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const verdict = judge(error ? '' : stdout);
  switch (verdict.kind) {
    case 'clean':
      console.log(`no known advisory that is high or critical (${verdict.lower} lower)`);
      return 0;
    case 'vulnerable':
      console.error(verdict.found.join('\n'));
      return 1;
    default:
      console.error(`NOT CHECKED: the audit service did not answer (${verdict.reason})`);
      return strict ? 1 : 0;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = main(process.argv.slice(2));

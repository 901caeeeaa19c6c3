import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cli } from '../support/cli.js';

const run = promisify(execFile);
const NAME = 'duroxide-drizzle';
const folder = mkdtempSync(path.join(tmpdir(), 'ddz-completion-'));
const scriptOf = (shell: string) => path.join(folder, shell === 'zsh' ? `_${NAME}` : `${NAME}.${shell}`);

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    writeFileSync(scriptOf(shell), (await cli(['completion', shell])).stdout);
  }
  writeFileSync(path.join(folder, 'a history.json'), '');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a shell offers for lines whose end is at the cursor. One process answers all of them. */
type Offer = (lines: readonly string[]) => Promise<string[][]>;

const shells: Readonly<Record<string, Offer>> = {
  async bash(lines) {
    const asked = lines.map((line) => {
      const words = line.split(/(?==)| |(?<==)/).map((word) => `'${word}'`);
      return `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _duroxide_drizzle 2>/dev/null
        printf '%s\\n' "\${COMPREPLY[@]}" ---`;
    });
    return answersOf('bash', ['--norc', '-c', ['source "$1"', ...asked].join('\n'), 'bash', scriptOf('bash')]);
  },
  async zsh(lines) {
    return answersOf('zsh', ['-f', path.resolve('test/support/completion/zsh-capture.zsh'), folder, ...lines]);
  },
  async fish(lines) {
    const asked = 'source $argv[1]; for line in $argv[2..-1]; complete -C $line; echo ---; end';
    const answers = await answersOf('fish', ['--no-config', '-c', asked, scriptOf('fish'), ...lines]);
    // A description stands behind a tab.
    return answers.map((offers) => offers.map((offer) => offer.replace(/\t.*/, '').replace(/^--[a-z-]+=/, '')));
  },
};

async function answersOf(command: string, args: readonly string[]): Promise<string[][]> {
  const { stdout } = await run(command, [...args], {
    cwd: folder,
    env: { ...process.env, HOME: folder },
    timeout: 60_000,
  });
  const answers = stdout.split('---\n').map((answer) => answer.split('\n').filter((line) => line !== ''));
  return answers.slice(0, -1);
}

const CASES: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['sh', ['show']],
  ['de', ['delete', 'demo']],
  ['--schema list de', ['delete', 'demo']],
  ['list --st', ['--status']],
  ['list --schema public --ro', ['--roots']],
  ['list --status ', ['Completed', 'ContinuedAsNew', 'Failed', 'Running']],
  ['delete --status=C', ['Completed']],
  ['completion ', ['bash', 'fish', 'zsh']],
  ['show ', []],
  ['raise order-1 --sch', ['--schema']],
  ['stats --roo', []],
  ['cancel -y order-1 --rea', ['--reason']],
  ['queues ', ['list', 'pause', 'resume']],
  ['schedules tr', ['trigger']],
  ['schedules create x Y --cr', ['--cron']],
  ['schedules create x Y --overlap ', ['allow', 'skip']],
  ['schedules pause --cr', []],
  ['schedules show x --fu', ['--full']],
  ['--schema s schedules --jso', ['--json']],
  ['schedules --schema s trigger x --wa', ['--wait']],
];

const isThere = async (shell: string) =>
  run(shell, ['-c', 'true']).then(
    () => true,
    () => false,
  );

for (const [shell, offer] of Object.entries(shells)) {
  const isInstalled = await isThere(shell);
  const describeShell = isInstalled ? describe : describe.skip;
  describeShell(`completion in ${shell}${isInstalled ? '' : ` (skipped: no ${shell} on the PATH)`}`, () => {
    let answers: ReadonlyMap<string, readonly string[]>;
    beforeAll(async () => {
      const lines = [...CASES.map(([line]) => line), '', 'replay a', 'export order-1 --out a', 'show a'];
      const offered = await offer(lines.map((line) => `${NAME} ${line}`));
      answers = new Map(lines.map((line, index) => [line, [...(offered[index] ?? ['no answer'])].sort()]));
    });

    test.each(CASES)('%j', (line, expected) => {
      expect(answers.get(line)).toEqual(expected);
    });

    test('every command is offered, and files where files are expected', async () => {
      const { stdout } = await cli(['--help']);
      const commands = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, command]) => command);
      expect(commands).toContain('migrate');
      expect(answers.get('')).toEqual(commands.filter((command) => command !== 'help').sort());
      const file = expect.stringMatching(/^a\\? history\.json$/) as unknown;
      expect(answers.get('replay a')).toEqual([file]);
      expect(answers.get('export order-1 --out a')).toEqual([file]);
      expect(answers.get('show a')).toEqual([]);
    });
  });
}

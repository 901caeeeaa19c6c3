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

/** What a shell offers for a line whose end is at the cursor. */
type Offer = (line: string) => Promise<string[]>;

const shells: Readonly<Record<string, Offer>> = {
  async bash(line) {
    const words = line.split(/(?==)| |(?<==)/);
    const asked =
      'shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _duroxide_drizzle; printf "%s\\n" "${COMPREPLY[@]}"';
    return linesOf('bash', ['--norc', '-c', `source "$1"; ${asked}`, 'bash', scriptOf('bash'), ...words]);
  },
  async zsh(line) {
    return linesOf('zsh', ['-f', path.resolve('test/support/completion/zsh-capture.zsh'), folder, line]);
  },
  async fish(line) {
    const lines = await linesOf('fish', [
      '--no-config',
      '-c',
      `source $argv[1]; complete -C $argv[2]`,
      scriptOf('fish'),
      line,
    ]);
    // A description stands behind a tab.
    return lines.map((offer) => offer.replace(/\t.*/, '').replace(/^--[a-z-]+=/, ''));
  },
};

async function linesOf(command: string, args: readonly string[]): Promise<string[]> {
  const { stdout } = await run(command, [...args], { cwd: folder, env: { ...process.env, HOME: folder } });
  return stdout.split('\n').filter((line) => line !== '');
}

const isThere = async (shell: string) =>
  run(shell, ['-c', 'true']).then(
    () => true,
    () => false,
  );

for (const [shell, offer] of Object.entries(shells)) {
  const isInstalled = await isThere(shell);
  const describeShell = isInstalled ? describe : describe.skip;
  describeShell(`completion in ${shell}${isInstalled ? '' : ` (skipped: no ${shell} on the PATH)`}`, () => {
    test.each([
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
    ])('%j', async (line, expected) => {
      expect((await offer(`${NAME} ${line}`)).sort()).toEqual(expected);
    });

    test('every command is offered, and files where files are expected', async () => {
      const { stdout } = await cli(['--help']);
      const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, command]) => command);
      expect((await offer(`${NAME} `)).sort()).toEqual(commands.filter((command) => command !== 'help').sort());
      expect(await offer(`${NAME} replay a`)).toEqual([expect.stringMatching(/^a(\\)? history\.json$/)]);
      expect(await offer(`${NAME} export order-1 --out a`)).toHaveLength(1);
      expect(await offer(`${NAME} show a`)).toEqual([]);
    });
  });
}

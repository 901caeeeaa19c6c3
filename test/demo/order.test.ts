import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';

/** What a worker of the demo says, behind its process id. */
const WORKER_LINE = /^ {2}\[worker (\d+)\] (.*)$/;

test('npm run demo: an order on PGlite survives SIGKILL of its worker, and the card is charged once', async () => {
  // The demo keeps its store in the temporary folder: one of its own keeps this run apart from others.
  const folder = await mkdtemp(path.join(tmpdir(), 'ddz-demo-'));
  try {
    const said = (await npmRunDemo(folder)).flatMap((line) => {
      const [, worker, text] = WORKER_LINE.exec(line) ?? [];
      return worker === undefined || text === undefined ? [] : [{ worker, text }];
    });
    const workers = [...new Set(said.map(({ worker }) => worker))];
    expect(workers).toHaveLength(2);
    const [killed, next] = workers.map((worker) =>
      said.filter((line) => line.worker === worker).map(({ text }) => text),
    );

    // Progress of the one, until it is paid; then of the other, from there to the end.
    expect(killed?.[0]).toBe('order-1001 is started');
    expect(killed).toContain('status: paid, receipt-18');
    expect(next?.[0]).toBe('order-1001 is there already, running: it goes on');
    expect(next).toEqual(expect.arrayContaining(['the courier has a book', 'status: waiting for the signature']));
    expect(next?.at(-1)).toBe('order-1001: Completed, order delivered, signed by Ann, receipt-18');
    expect(said.filter(({ text }) => text === 'the card is charged 18 euros')).toHaveLength(1);
    expect(await readdir(folder)).not.toContain('duroxide-drizzle-demo');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** Its lines. @throws Error with what it said when it exits with anything but 0 */
async function npmRunDemo(folder: string): Promise<string[]> {
  const quickPglite = pathToFileURL(path.resolve('test/support/pglite/preload.mjs')).href;
  const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: folder, NODE_OPTIONS: `--import=${quickPglite}` };
  // Otherwise it would run on that server.
  delete env['DATABASE_URL'];
  const child = spawn('npm', ['run', '--silent', 'demo'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  let stderr = '';
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the demo ended with ${code}:\n${lines.join('\n')}\n${stderr}`);
  return lines;
}

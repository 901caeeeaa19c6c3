/**
 * An order, from payment to delivery, in a worker process that is killed in the middle
 * and started again. Nothing is lost and nothing is asked for twice.
 *
 *     npm run demo
 *     DATABASE_URL=postgres://… npm run demo
 *
 * Kill the whole demo and run it again: it goes on where it was. Exits with 1 if the
 * order does not end as it should.
 */
import { spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Longest time that one worker may take, in ms: a guard, not a schedule. */
const PATIENCE_MS = 120_000;

const directory = path.join(tmpdir(), 'duroxide-drizzle-demo');
await mkdir(directory, { recursive: true });

say(
  `The state is kept in ${process.env['DATABASE_URL'] ? 'the PostgreSQL of DATABASE_URL' : `PGlite, in ${directory}`}.`,
);
say('\nA worker begins. It will be killed (SIGKILL) as soon as the order is paid.\n');
await runWorker({ killAfter: 'status: paid' });

say('\nThe worker is dead. Another one opens the same store.\n');
const last = await runWorker({});
await rm(directory, { recursive: true, force: true });

if (!last.some((line) => line.includes('order delivered'))) {
  say('\nThe order did not end as it should.');
  process.exit(1);
}
say('\nThe second worker replayed the history, found the card charged once, and went on from there.');

/** Runs a worker to its end, or until it has said `killAfter`; resolves with its lines. */
function runWorker({ killAfter }: { readonly killAfter?: string }): Promise<string[]> {
  const script = fileURLToPath(new URL('./order-worker.ts', import.meta.url));
  const worker = spawn(process.execPath, ['--import', 'tsx', script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const guard = setTimeout(() => worker.kill('SIGKILL'), PATIENCE_MS);
  const lines: string[] = [];
  createInterface({ input: worker.stdout }).on('line', (line) => {
    lines.push(line);
    say(`  [worker ${worker.pid ?? '?'}] ${line}`);
    if (killAfter !== undefined && line.includes(killAfter)) worker.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('close', () => {
      clearTimeout(guard);
      resolve(lines);
    });
  });
}

function say(text: string): void {
  console.log(text);
}

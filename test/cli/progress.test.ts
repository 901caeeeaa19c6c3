import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { CliContext } from '../../src/cli/context.js';
import { type CliIo, Interrupted } from '../../src/cli/io.js';
import { Printer } from '../../src/cli/output/printer.js';
import { withProgress, withSpinner } from '../../src/cli/progress.js';

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

/** A terminal whose screen can be looked at, with somebody in front of it. */
function terminal({ columns = 100, isTTY = true, json = false } = {}) {
  let written = '';
  const stream = () => Object.assign(new PassThrough(), { isTTY, columns });
  const controller = new AbortController();
  const io: CliIo = {
    stdin: Object.assign(Readable.from([]), { isTTY }),
    stdout: stream(),
    stderr: stream().on('data', (chunk: Buffer) => (written += chunk.toString())),
    env: { NO_COLOR: '1' },
    cwd: '/',
    signal: controller.signal,
  };
  const ctx: Pick<CliContext, 'io' | 'print'> = { io, print: new Printer(io, json, undefined) };
  return {
    ctx: ctx as CliContext,
    all: () => written,
    /** The last line, as it stands there now. */
    line: () => written.slice(written.lastIndexOf('\u001b[2K') + 1).replace('[2K', ''),
    interrupt: () => controller.abort(new Interrupted('user')),
  };
}

/** Work that ends when it is told to. */
function work<T>() {
  let end: (value: T) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const done = new Promise<T>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { done, end, fail };
}

describe('a progress bar', () => {
  test('appears when the work has taken a second, moves, and leaves one line', async () => {
    const { ctx, all, line } = terminal();
    const { done, end } = work<string>();
    let to: (count: number) => void = () => undefined;
    const result = withProgress(ctx, { what: 'pruning', total: 1_500 }, (progress) => {
      to = (count) => progress.to(count);
      return done;
    });
    to(700);
    await jest.advanceTimersByTimeAsync(999);
    expect(all()).toBe('');
    await jest.advanceTimersByTimeAsync(1);
    expect(line()).toBe(`${'━'.repeat(14)}${'─'.repeat(16)}  pruning: 700 of 1,500`);
    to(1_500);
    await jest.advanceTimersByTimeAsync(100);
    expect(line()).toBe(`${'━'.repeat(30)}  pruning: 1,500 of 1,500`);
    end('all');
    expect(await result).toBe('all');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(line()).toBe('✓ pruning: 1,500 of 1,500\n');
  });

  test('of shorter work, of JSON and of a pipe is never written', async () => {
    for (const options of [{}, { json: true }, { isTTY: false }]) {
      const { ctx, all } = terminal(options);
      const { done, end } = work<void>();
      const result = withProgress(ctx, { what: 'pruning', total: 2 }, () => done);
      await jest.advanceTimersByTimeAsync(options === undefined || Object.keys(options).length > 0 ? 5_000 : 900);
      end();
      await result;
      await jest.advanceTimersByTimeAsync(5_000);
      expect(all()).toBe('');
    }
  });

  test('fits into a narrow terminal', async () => {
    for (const [columns, expected] of [
      [34, `${'━'.repeat(5)}${'─'.repeat(5)}  pruning: 700 of 1,400`],
      [28, 'pruning: 700 of 1,400'],
      [12, 'pruning: 7…'],
    ] as const) {
      const { ctx, line } = terminal({ columns });
      const { done, end } = work<void>();
      const result = withProgress(ctx, { what: 'pruning', total: 1_400 }, (progress) => {
        progress.to(700);
        return done;
      });
      await jest.advanceTimersByTimeAsync(1_000);
      expect(line()).toBe(expected);
      end();
      await result;
    }
  });

  test('of work that fails, or is left behind by Ctrl-C, says how far it came, and draws no more', async () => {
    const failing = terminal();
    const broken = work<void>();
    const failed = withProgress(failing.ctx, { what: 'pruning', total: 2 }, () => broken.done);
    const rejected = expect(failed).rejects.toThrow('no disk');
    await jest.advanceTimersByTimeAsync(1_000);
    broken.fail(new Error('no disk'));
    await rejected;
    expect(failing.line()).toBe('✗ pruning: stopped after 0 of 2\n');

    const left = terminal();
    void withProgress(left.ctx, { what: 'pruning', total: 2 }, () => new Promise(() => undefined));
    await jest.advanceTimersByTimeAsync(1_000);
    left.interrupt();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(left.line()).toBe('✗ pruning: stopped after 0 of 2\n');
  });

  test('leaves the keyboard alone: Ctrl-C stays a signal', async () => {
    const { ctx } = terminal();
    const read = jest.spyOn(ctx.io.stdin, 'read');
    const listening = process.listenerCount('SIGINT');
    const { done, end } = work<void>();
    const result = withProgress(ctx, { what: 'pruning', total: 2 }, () => done);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(process.listenerCount('SIGINT')).toBe(listening);
    expect(process.stdin.listenerCount('keypress')).toBe(0);
    expect(read).not.toHaveBeenCalled();
    end();
    await result;
  });
});

test('what is printed meanwhile stands above the line, which comes back', async () => {
  const { ctx, all, line } = terminal();
  const { done, end } = work<void>();
  const labels = { doing: 'looking', done: 'looked', failed: 'stopped' };
  let print: () => void = () => undefined;
  const result = withSpinner(ctx, labels, ({ say, above }) => {
    say('2 found');
    print = () => above(() => ctx.io.stderr.write('row\n'));
    return done;
  });
  await jest.advanceTimersByTimeAsync(2_000);
  expect(line()).toBe('looking: 2 found (2 s)');
  print();
  await jest.advanceTimersByTimeAsync(0);
  expect(all()).toMatch(/2K ?row\nlooking: 2 found \(2 s\)$/);
  end();
  await result;
  expect(line()).toBe('✓ looked: 2 found\n');
});

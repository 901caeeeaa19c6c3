import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { waitFor } from './runtime-harness.js';

export type Line = Readonly<Record<string, unknown>>;

/** A program that reports in lines of JSON. */
export class LineProcess {
  readonly lines: Line[] = [];
  private stderr = '';
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.child = spawn(process.execPath, [...args], { stdio: ['pipe', 'pipe', 'pipe'], env });
    this.exited = once(this.child, 'exit');
    if (this.child.stdout === null || this.child.stderr === null) throw new Error('the program has no output');
    createInterface(this.child.stdout).on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    this.child.stderr.on('data', (text: Buffer) => (this.stderr += text.toString()));
  }

  /** The first line that matches, now or later. */
  async line(what: string, matches: (line: Line) => boolean): Promise<Line> {
    await waitFor(`${what}; so far: ${this.stderr}`, () => {
      if (this.child.exitCode !== null) throw new Error(`the program ended (${this.child.exitCode}): ${this.stderr}`);
      return this.lines.some(matches);
    });
    return this.lines.find(matches) as Line;
  }

  /** Lets it end by itself. */
  async end(): Promise<readonly Line[]> {
    this.child.stdin?.write('end\n');
    await this.exited;
    if (this.child.exitCode !== 0) throw new Error(`the program ended with ${this.child.exitCode}: ${this.stderr}`);
    return this.lines;
  }

  kill(): void {
    if (this.child.exitCode === null) this.child.kill('SIGKILL');
  }
}

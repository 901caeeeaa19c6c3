import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { WorkerCommand, WorkerMessage, WorkerSettings } from './worker.js';

/** A worker of the load that the suite may kill. */
export class WorkerProcess {
  private readonly child: ChildProcess;
  private readonly exit: Promise<unknown>;
  private isExpectedToEnd = false;
  /** Resolves when its loops run, or when it has ended. */
  readonly ready: Promise<void>;

  constructor(
    program: string,
    settings: WorkerSettings,
    /** Told what must never happen: an end of its own accord, a line that says that something is wrong. */
    onViolation: (problem: string) => void,
  ) {
    this.child = spawn(process.execPath, ['--enable-source-maps', program], {
      env: { ...process.env, DDZ_FAULT_WORKER: JSON.stringify(settings) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let errors = '';
    this.child.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4_000);
      if (process.env['DDZ_FAULT_LOG']) process.stderr.write(chunk);
    });
    this.exit = once(this.child, 'exit');
    let started = () => {};
    this.ready = new Promise((resolve) => (started = resolve));
    this.child.on('message', (message: WorkerMessage) => {
      if (message.kind === 'ready') started();
      else onViolation(message.message);
    });
    this.child.on('exit', (code, signal) => {
      started();
      if (!this.isExpectedToEnd) onViolation(`a worker ended by itself with ${code ?? signal}: ${errors}`);
    });
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  send(command: WorkerCommand): void {
    // It may have been killed in this very moment; its end is told by `exit`.
    if (this.child.connected) this.child.send(command, () => {});
  }

  /** Stops the whole process, as a machine that swaps or a debugger does. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.isExpectedToEnd = true;
    if (this.isRunning) this.child.kill('SIGKILL');
    await this.exit;
  }

  /** Lets it end in order. */
  async stop(): Promise<void> {
    this.isExpectedToEnd = true;
    this.send({ kind: 'stop' });
    const late = setTimeout(() => this.child.kill('SIGKILL'), 20_000);
    await this.exit;
    clearTimeout(late);
  }
}

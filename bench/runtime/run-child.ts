import { type ChildProcess, fork } from 'node:child_process';
import { compiledChild } from './compiled-child.js';
import type { ChildMessage, ChildParams, ChildResult, ParentMessage } from './protocol.js';
import { difference, type ServerCounters, type ServerReading } from './server-counters.js';

/** A measured window: what the children saw, and what the server did meanwhile. */
export interface Measured {
  readonly children: readonly ChildResult[];
  readonly server: ServerReading;
  readonly elapsedMs: number;
}

/** One process that runs an engine. */
export class EngineProcess {
  readonly #process: ChildProcess;
  readonly #inbox: ChildMessage[] = [];
  #wake: (() => void) | undefined;
  #exited = false;

  constructor(params: ChildParams) {
    this.#process = fork(compiledChild(), [JSON.stringify(params)], { execArgv: profiling() });
    this.#process.on('message', (message) => this.#note(message as ChildMessage));
    this.#process.on('exit', () => {
      this.#exited = true;
      this.#wake?.();
    });
  }

  tell(kind: ParentMessage['kind']): void {
    this.#process.send({ kind } satisfies ParentMessage);
  }

  /** The next message, which has to be of this kind. */
  async hear<K extends ChildMessage['kind']>(kind: K): Promise<Extract<ChildMessage, { kind: K }>> {
    for (;;) {
      const message = this.#inbox.shift();
      if (message?.kind === 'failed') throw new Error(message.error);
      if (message?.kind === kind) return message as Extract<ChildMessage, { kind: K }>;
      if (message) throw new Error(`expected '${kind}' of the child, got '${message.kind}'`);
      if (this.#exited) throw new Error(`the child ended before '${kind}'`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async stop(): Promise<void> {
    if (this.#exited) return;
    const exited = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()));
    if (this.#process.connected) this.tell('exit');
    await exited;
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #note(message: ChildMessage): void {
    this.#inbox.push(message);
    this.#wake?.();
  }
}

/** Runs one child through its window. */
export async function runChild(params: ChildParams, counters: ServerCounters): Promise<Measured> {
  const child = new EngineProcess(params);
  try {
    await child.hear('ready');
    child.tell('go');
    await child.hear('begin');
    const before = await counters.read();
    child.tell('go');
    const { result } = await child.hear('end');
    const server = difference(await counters.read(), before);
    await child.stop();
    return { children: [result], server, elapsedMs: result.elapsedMs };
  } catch (error) {
    child.kill();
    throw error;
  }
}

/** `BENCH_CPU_PROF=directory` leaves a CPU profile of each child there. */
function profiling(): string[] {
  const directory = process.env['BENCH_CPU_PROF'];
  return directory ? ['--cpu-prof', `--cpu-prof-dir=${directory}`] : [];
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FailpointProxy } from '../../support/failpoints.js';
import type { PostgresServer } from '../../support/postgres-server.js';
import type { Administrator } from './administrator.js';
import { pause } from './random.js';
import { Relay } from './relay.js';
import { WorkerProcess } from './worker-process.js';

/** Of the workers, whatever they lock, in ms. */
export const LONGEST_LOCK_MS = 1_500;

/** A worker with the proxy in front of it; the process changes, the proxy stays. */
export interface Slot {
  readonly number: number;
  readonly proxy: FailpointProxy;
  process: WorkerProcess;
}

export interface WorldOptions {
  readonly server: PostgresServer;
  readonly administrator: Administrator;
  /** What `bundleProgram` made of `worker.ts`. */
  readonly program: string;
  readonly schema: string;
  readonly ledgerTable: string;
  readonly workers: number;
  readonly onViolation: (problem: string) => void;
}

/** The processes of one round and everything between them and the server. */
export class World {
  readonly slots: Slot[] = [];

  private constructor(
    readonly options: WorldOptions,
    /** Between all proxies and the server. */
    readonly relay: Relay,
    /** In front of the clients. */
    readonly clientProxy: FailpointProxy,
    /** Where side effects are noted. */
    readonly effects: string,
    /** Where the load says what has been mended. */
    readonly repairs: string,
  ) {}

  static async open(options: WorldOptions): Promise<World> {
    const effects = await mkdtemp(path.join(tmpdir(), 'ddz-effects-'));
    const repairs = await mkdtemp(path.join(tmpdir(), 'ddz-repairs-'));
    const relay = await Relay.open(options.server.url);
    const world = new World(options, relay, await FailpointProxy.open(relay.url), effects, repairs);
    for (let number = 0; number < options.workers; number++) {
      const proxy = await FailpointProxy.open(relay.url);
      world.slots.push({ number, proxy, process: world.spawn(number, proxy) });
    }
    await Promise.all(world.slots.map(({ process }) => process.ready));
    return world;
  }

  /** A new process in a slot whose old one is dead. */
  respawn(slot: Slot): void {
    slot.process = this.spawn(slot.number, slot.proxy);
  }

  /** Stops all processes until their locks have ended, and lets them go on afterwards. */
  async whileStopped(use: () => Promise<void>): Promise<void> {
    const stopped = this.slots.map(({ process }) => process);
    for (const process of stopped) process.pause();
    try {
      await pause(LONGEST_LOCK_MS + 100);
      await use();
    } finally {
      for (const process of stopped) process.resume();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.slots.map(({ process }) => process.stop()));
    for (const { proxy } of this.slots) await proxy.close();
    await this.clientProxy.close();
    await this.relay.close();
    for (const directory of [this.effects, this.repairs]) await rm(directory, { recursive: true, force: true });
  }

  private spawn(number: number, proxy: FailpointProxy): WorkerProcess {
    const { program, schema, ledgerTable, onViolation } = this.options;
    return new WorkerProcess(
      program,
      {
        url: proxy.url,
        schema,
        ledgerTable,
        effects: path.join(this.effects, `worker-${number}`),
        repairs: this.repairs,
        // Both ways of the driver, and replays that are compared in one of three.
        pipeline: number % 2 === 0,
        verifyWarm: number % 3 === 1,
        connections: 3 + number,
      },
      onViolation,
    );
  }
}

import type { Client, Runtime } from '../../src/index.js';

type AnyRuntime = Pick<Runtime, 'registerActivity' | 'registerOrchestration'>;
type AnyClient = Pick<
  Client,
  'startOrchestration' | 'enqueueEvent' | 'getStatus' | 'raiseEvent' | 'waitForOrchestration'
>;
type LaterClient = AnyClient & Pick<Client, 'schedules' | 'readExecutionHistory'>;

export const expectedOutputs: Readonly<Record<string, unknown>>;
export const instances: readonly { readonly id: string; readonly name: string; readonly child?: string }[];
export function register(runtime: AnyRuntime): void;
export function startAll(client: AnyClient, prefix?: string): Promise<void>;
export function finishAll(client: AnyClient, prefix?: string): Promise<Record<string, unknown>>;
export const sleeper: { readonly id: string; readonly output: unknown };
export const schedule: { readonly id: string; readonly input: unknown };
export function startLater(client: LaterClient): Promise<void>;

interface QueuedStart {
  readonly id: string;
  readonly queue: string;
  readonly key?: string;
  readonly is: 'ended' | 'running' | 'waiting';
  readonly go?: number;
  readonly output?: unknown;
}
type QueuesClient = AnyClient & Pick<Client, 'start' | 'startQueues'>;

export const queues: readonly { readonly id: string }[];
export const queuedStarts: readonly QueuedStart[];
export function startQueued(client: QueuesClient): Promise<void>;

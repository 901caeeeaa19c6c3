import type { Client, Runtime } from '../../src/index.js';

type AnyRuntime = Pick<Runtime, 'registerActivity' | 'registerOrchestration'>;
type AnyClient = Pick<
  Client,
  'startOrchestration' | 'enqueueEvent' | 'getStatus' | 'raiseEvent' | 'waitForOrchestration'
>;

export const expectedOutputs: Readonly<Record<string, unknown>>;
export const instances: readonly { readonly id: string; readonly name: string; readonly child?: string }[];
export function register(runtime: AnyRuntime): void;
export function startAll(client: AnyClient, prefix?: string): Promise<void>;
export function finishAll(client: AnyClient, prefix?: string): Promise<Record<string, unknown>>;

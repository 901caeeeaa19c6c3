import type { InstanceState } from '../provider/provider.js';
import { decodePayload } from '../wire/payload.js';

/** Where an instance stands. */
export interface OrchestrationStatus {
  /** `NotFound` also while no runtime has taken the start message. */
  status: 'NotFound' | 'Running' | 'Completed' | 'Failed';
  /** Only when completed. `getStatus` gives the JSON text, the waiting methods the value. */
  output?: unknown;
  /** Only when failed. */
  error?: string;
  /** Absent when it was never set, or was reset. */
  customStatus?: string;
  /** 0 until the first change. */
  customStatusVersion: number;
}

/** Whether nothing more will happen to the instance. */
export function hasEnded(state: InstanceState | undefined): state is InstanceState {
  return state !== undefined && (state.status === 'Completed' || state.status === 'Failed');
}

/** The status of `getStatus`: the output as its JSON text. */
export function rawStatus(state: InstanceState | undefined): OrchestrationStatus {
  return statusOf(state, (text) => text);
}

/** The status of the waiting methods: the output parsed. */
export function parsedStatus(state: InstanceState | undefined): OrchestrationStatus {
  return statusOf(state, decodePayload);
}

/** A state that may be handed on. @throws ProviderError when its payloads cannot be decoded */
export function readable<State extends InstanceState | undefined>(state: State): State {
  if (state?.unreadable) throw state.unreadable;
  return state;
}

function statusOf(state: InstanceState | undefined, output: (text: string) => unknown): OrchestrationStatus {
  if (state === undefined) return { status: 'NotFound', customStatusVersion: 0 };
  readable(state);
  const custom = {
    ...(state.customStatus === null ? {} : { customStatus: state.customStatus }),
    customStatusVersion: state.customStatusVersion,
  };
  switch (state.status) {
    case 'Completed':
      return { status: 'Completed', output: output(state.output ?? 'null'), ...custom };
    case 'Failed':
      return { status: 'Failed', error: state.output ?? '', ...custom };
    default:
      // Between two executions, too: the next one is about to start.
      return { status: 'Running', ...custom };
  }
}

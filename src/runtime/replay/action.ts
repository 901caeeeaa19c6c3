/**
 * What an orchestration asks for. Each action becomes one history event, and on replay
 * each recorded event must meet an equal action at the same place. Payloads are opaque
 * texts; they are compared byte for byte.
 */
export type Action =
  | {
      readonly kind: 'scheduleActivity';
      readonly name: string;
      readonly input: string;
      readonly sessionId?: string | undefined;
      readonly tag?: string | undefined;
    }
  /** The engine adds the delay to the time of the call; a recorded deadline is never compared. */
  | { readonly kind: 'createTimer'; readonly delayMs: number }
  /** A positional wait for an external event (runtime.md 3.4). */
  | { readonly kind: 'waitExternal'; readonly name: string }
  /** Takes the next message of a mailbox (runtime.md 3.5). */
  | { readonly kind: 'dequeueEvent'; readonly name: string }
  | {
      readonly kind: 'startSubOrchestration';
      readonly name: string;
      /** `null`: the child's version policy decides where it runs. */
      readonly version: string | null;
      /** `null`: an id is derived from the event id. */
      readonly instance: string | null;
      readonly input: string;
    }
  /** Fire and forget: no result is ever delivered for its token. */
  | {
      readonly kind: 'startDetached';
      readonly name: string;
      readonly version: string | null;
      readonly instance: string;
      readonly input: string;
    }
  /** Ends the execution when the turn ends; never delivered. */
  | { readonly kind: 'continueAsNew'; readonly input: string; readonly version: string | null }
  /** `null` clears it. */
  | { readonly kind: 'updateCustomStatus'; readonly status: string | null }
  | { readonly kind: 'setKeyValue'; readonly key: string; readonly value: string }
  | { readonly kind: 'clearKeyValue'; readonly key: string }
  | { readonly kind: 'clearKeyValues' };

/** Actions whose outcome is delivered to the driver, once. */
export type AwaitableActionKind =
  'scheduleActivity' | 'createTimer' | 'waitExternal' | 'dequeueEvent' | 'startSubOrchestration';

/**
 * Actions that a driver emits itself. Key-value and status changes go through the
 * immediate methods of the port, which also keep the values in memory.
 */
export type EmittedAction = Extract<Action, { kind: AwaitableActionKind | 'startDetached' | 'continueAsNew' }>;

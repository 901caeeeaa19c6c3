import type { Client } from '../client/client.js';
import type { TraceLevel } from './tracing/trace-record.js';

/** What an activity's context is made from. @internal */
export interface ActivityContextParams {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  readonly activityName: string;
  readonly workerId: string;
  readonly sessionId: string | null;
  readonly tag: string | null;
  readonly run: ActivityRun;
}

/** What the context asks the runtime about the activity that runs. @internal */
export interface ActivityRun {
  /** False once the activity has ended or was given up. */
  readonly active: boolean;
  readonly cancelled: boolean;
  /** Made at the first use. */
  readonly signal: AbortSignal;
  client(): Client;
  trace(level: TraceLevel, message: string): void;
}

/** Where an activity runs, and how it talks back. Made by the runtime, one for each run. */
export class ActivityContext {
  readonly instanceId: string;
  readonly executionId: number;
  readonly orchestrationName: string;
  readonly orchestrationVersion: string;
  readonly activityName: string;
  /** `work-<slot>-<node>`. */
  readonly workerId: string;
  /** `null` for an activity without a session. */
  readonly sessionId: string | null;
  readonly #tag: string | null;
  readonly #run: ActivityRun;

  /** @internal */
  constructor(params: ActivityContextParams) {
    this.instanceId = params.instanceId;
    this.executionId = params.executionId;
    this.orchestrationName = params.orchestrationName;
    this.orchestrationVersion = params.orchestrationVersion;
    this.activityName = params.activityName;
    this.workerId = params.workerId;
    this.sessionId = params.sessionId;
    this.#tag = params.tag;
    this.#run = params.run;
  }

  /** The routing tag, or `null`; `null` also after the activity has ended. */
  tag(): string | null {
    return this.#run.active ? this.#tag : null;
  }

  /** Whether nobody wants the result any more: a lost race, an ended orchestration, a lost lock. */
  isCancelled(): boolean {
    return this.#run.active && this.#run.cancelled;
  }

  /** Aborts as soon as {@link isCancelled} becomes true; hand it to `fetch` and the like. */
  get signal(): AbortSignal {
    return this.#run.signal;
  }

  /** A client on the same store; `null` after the activity has ended. */
  getClient(): Client {
    return this.#run.active ? this.#run.client() : (null as unknown as Client);
  }

  traceInfo(message: unknown): void {
    this.#run.trace('info', String(message));
  }

  traceWarn(message: unknown): void {
    this.#run.trace('warn', String(message));
  }

  traceError(message: unknown): void {
    this.#run.trace('error', String(message));
  }

  traceDebug(message: unknown): void {
    this.#run.trace('debug', String(message));
  }
}

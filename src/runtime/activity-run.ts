import { setMaxListeners } from 'node:events';
import type { Client } from '../client/client.js';
import type { LockedWorkItem } from '../provider/provider.js';
import type { WorkItemOf } from '../wire/work-item.js';
import type { ActivityRun } from './activity-context.js';
import type { TraceLevel, WriteTrace } from './tracing/trace-record.js';

/** Why nobody wants the result of a running activity any more. */
export type CancelReason =
  /** Its orchestration decided so, or has ended. */
  | 'cancelled'
  /** The lock ran out or the row is gone: it may run elsewhere, or was cancelled there. */
  | 'lockLost'
  /** The runtime stops and waits no longer. */
  | 'shutdown';

/** What an activity's abort signal gives as its reason. */
export class ActivityCancelledError extends Error {
  override readonly name = 'ActivityCancelledError';

  constructor(readonly reason: CancelReason) {
    super(`the activity was cancelled: ${reason}`);
  }
}

/** A worker row of an activity that this process holds. */
export interface ActivityRow {
  readonly row: LockedWorkItem;
  readonly item: WorkItemOf<'ActivityExecute'>;
  /** `waiting` for a slot, `running`, or being acknowledged or given back. */
  state: 'waiting' | 'running' | 'settling';
  /** When it was locked, by the clock of the process. */
  readonly takenAtMs: number;
  /** Locked by the commit of a turn of this process. */
  readonly isOwn: boolean;
}

/** One run of an activity: what its context answers from, and what the dispatcher keeps of it. */
export class RunningActivity implements ActivityRun {
  active = true;
  cancelled = false;
  private controller: AbortController | undefined;
  private abandonment: AbortController | undefined;
  private reason: CancelReason = 'cancelled';

  constructor(
    readonly activity: ActivityRow,
    readonly slot: number,
    readonly workerId: string,
    private readonly names: { readonly name: string; readonly version: string },
    private readonly shared: { readonly client: () => Client; readonly trace: WriteTrace },
  ) {}

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      // It lives for one attempt; eleven requests of a handler that listen to it at once are no leak.
      setMaxListeners(0, this.controller.signal);
      if (this.cancelled) this.controller.abort(new ActivityCancelledError(this.reason));
    }
    return this.controller.signal;
  }

  /** Aborted when the run has ended or was given up: nobody waits for what its handler still does. */
  get abandoned(): AbortSignal {
    this.abandonment ??= new AbortController();
    if (!this.active) this.abandonment.abort();
    return this.abandonment.signal;
  }

  client(): Client {
    return this.shared.client();
  }

  trace(level: TraceLevel, message: string): void {
    const { item } = this.activity;
    this.shared.trace({
      level,
      target: 'duroxide::activity',
      message,
      fields: {
        instance_id: item.instance,
        execution_id: String(item.executionId),
        orchestration_name: this.names.name,
        orchestration_version: this.names.version,
        activity_name: item.name,
        activity_id: String(item.id),
        worker_id: this.workerId,
      },
    });
  }

  /** Tells the handler that its result is unwanted; only the first call counts. */
  cancel(reason: CancelReason): boolean {
    if (this.cancelled || !this.active) return false;
    this.cancelled = true;
    this.reason = reason;
    this.controller?.abort(new ActivityCancelledError(reason));
    return true;
  }

  /** The handler has ended or was given up: nothing that it still says counts. `false` if it had ended before. */
  end(): boolean {
    const { active } = this;
    this.active = false;
    this.abandonment?.abort();
    return active;
  }
}

/** Names an activity of an execution, as cancellations do. */
export function activityKey(instance: string, executionId: number, activityId: number): string {
  return `${executionId}:${activityId}:${instance}`;
}

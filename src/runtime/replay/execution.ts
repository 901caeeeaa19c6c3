import { COMPAT_VERSION_TEXT } from '../../wire/compat-version.js';
import type { ErrorDetails } from '../../wire/error-details.js';
import type { HistoryEvent } from '../../wire/event.js';
import { DEFAULT_MAX_PAYLOAD_BYTES, MAX_KV_KEYS, MAX_SETTLE_ITERATIONS } from '../../wire/limits.js';
import { startedBody } from './batch.js';
import { OrchestrationCode, panicOf } from './code.js';
import { decideTurn } from './decide.js';
import type { Steps } from './drive.js';
import { drive } from './drive.js';
import { nondeterminism } from './failures.js';
import { finishTurn } from './finish.js';
import { HistoryLedger } from './ledger.js';
import { recordMessages } from './prepare.js';
import { RunningTurn } from './running-turn.js';
import type {
  ColdTurn,
  ExecutionParams,
  LiveExecution,
  TurnLimits,
  TurnOutcome,
  TurnResult,
  WarmTurn,
} from './turn.js';
import { HistoryWalker } from './walker.js';

/** Makes a live execution; its first turn is a cold one. */
export function createExecution(params: ExecutionParams): LiveExecution {
  return new Execution(params);
}

/** The code of an execution and its way through history, once both exist. */
interface Running {
  readonly code: OrchestrationCode;
  readonly walker: HistoryWalker;
}

class Execution implements LiveExecution {
  readonly instance: string;
  readonly executionId: number;

  private readonly ledger = new HistoryLedger();
  private readonly limits: TurnLimits;
  private readonly duroxideVersion: string;
  private running: Running | undefined;
  private turn: RunningTurn | undefined;
  private parentExecutionId: number | undefined;
  private seedKeys: ReadonlySet<string> = new Set();
  private state: 'new' | 'resting' | 'busy' | 'over' = 'new';

  constructor(private readonly params: ExecutionParams) {
    this.instance = params.instance;
    this.executionId = params.executionId;
    this.duroxideVersion = params.duroxideVersion ?? COMPAT_VERSION_TEXT;
    this.limits = {
      maxPayloadBytes: params.limits?.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES,
      maxSettleIterations: params.limits?.maxSettleIterations ?? MAX_SETTLE_ITERATIONS,
    };
  }

  runCold(input: ColdTurn): TurnOutcome | Promise<TurnOutcome> {
    if (this.state !== 'new') throw new Error('a live execution runs from its start only once');
    this.state = 'busy';
    return drive(this.coldTurn(input));
  }

  runWarm(input: WarmTurn): TurnOutcome | Promise<TurnOutcome> {
    if (this.state !== 'resting' || !this.running) throw new Error('this live execution cannot go on');
    this.state = 'busy';
    return drive(this.warmTurn(input, this.running));
  }

  approximateBytes(): number {
    const { code, walker } = this.running ?? {};
    return 2048 + this.ledger.retainedBytes + (code?.retainedBytes ?? 0) + (walker?.retainedBytes ?? 0);
  }

  private *coldTurn({ history, start, messages, kvSnapshot, now, parentExecutionId }: ColdTurn): Steps<TurnOutcome> {
    const { ledger } = this;
    for (const event of history) ledger.record(event);
    this.parentExecutionId = parentExecutionId;
    this.seedKeys = new Set(kvSnapshot?.keys());
    const turn = this.beginTurn(now, history);
    if (ledger.isTerminal) return this.endTurn(turn, { kind: 'alreadyTerminal' });
    if (history.length === 0 && start) turn.writer.append(startedBody(start));

    const abort = this.recordMessages(turn, messages) ?? this.damage();
    const { started } = ledger;
    if (abort || !started) return this.endTurn(turn, { kind: 'failed', details: abort ?? EMPTY_HISTORY });

    turn.leadThrough([...history, ...turn.writer.delta]);
    const code = new OrchestrationCode(
      {
        createDriver: this.params.createDriver,
        info: {
          instance: this.instance,
          executionId: this.executionId,
          name: started.name,
          version: started.version,
          input: started.input,
        },
        kvSeed: kvSnapshot,
        carriedStatus: started.initialCustomStatus,
      },
      {
        nowMs: () => this.currentTurn().now(),
        turnStartMs: () => this.currentTurn().startMs,
        isReplaying: () => this.turn?.isReplaying ?? false,
        isInScheduleRun: () => this.running?.walker.inScheduleRun ?? false,
        recordedClears: () => this.currentTurn().recordedClears(this.running?.code.actions.length ?? 0),
        markColdOnly: () => this.currentTurn().markColdOnly(),
        decided: this.params.onDecision,
      },
    );
    const walker = new HistoryWalker(code, {
      eventUnclaimed: (name, isDelivered) => this.currentTurn().eventUnclaimed(name, isDelivered),
    });
    this.running = { code, walker };
    return yield* this.lead(turn, this.running);
  }

  private *warmTurn({ messages, now }: WarmTurn, running: Running): Steps<TurnOutcome> {
    const turn = this.beginTurn(now, []);
    const abort = this.recordMessages(turn, messages);
    if (abort) return this.endTurn(turn, { kind: 'failed', details: abort });
    turn.leadThrough([...turn.writer.delta]);
    return yield* this.lead(turn, running);
  }

  private beginTurn(now: () => number, history: readonly HistoryEvent[]): RunningTurn {
    const { instance, executionId, duroxideVersion, ledger } = this;
    this.turn = new RunningTurn({ envelope: { instance, executionId, duroxideVersion }, ledger, now, history });
    return this.turn;
  }

  private currentTurn(): RunningTurn {
    // The port refuses every call outside a poll, and polls happen inside turns only.
    if (!this.turn) throw new Error('no turn is running');
    return this.turn;
  }

  private recordMessages(turn: RunningTurn, messages: ColdTurn['messages']): ErrorDetails | undefined {
    const { executionId, ledger } = this;
    return recordMessages(messages, { executionId, ledger, writer: turn.writer }, (warning) => turn.warn(warning));
  }

  private damage(): ErrorDetails | undefined {
    if (this.ledger.count === 0) return EMPTY_HISTORY;
    return this.ledger.firstKind === 'OrchestrationStarted'
      ? undefined
      : nondeterminism('corrupted history: first event must be OrchestrationStarted');
  }

  /** Leads the code through what is recorded, then settles what it wants to do (runtime.md 2.4 to 2.7). */
  private *lead(turn: RunningTurn, { code, walker }: Running): Steps<TurnOutcome> {
    let failure: ErrorDetails | undefined;
    for (const event of turn.events) {
      if (walker.mustPoll) {
        walker.mustPoll = false;
        const pending = code.poll();
        if (pending) yield pending;
        if (code.finished) break; // the rest of history is not looked at: finishing early is no error
      }
      failure = walker.apply(event);
      if (failure) break;
      turn.applied();
    }
    if (walker.mustPoll && !code.finished && !failure) {
      walker.mustPoll = false;
      const pending = code.poll();
      if (pending) yield pending;
    }
    turn.isReplaying = false;
    failure ??= panicOf(code);
    const result = failure
      ? ({ kind: 'failed', details: failure } as const)
      : yield* decideTurn({ turn, code, walker, ledger: this.ledger, limits: this.limits, ...this.names() });
    return this.endTurn(turn, result);
  }

  private names(): { instance: string; executionId: number } {
    return { instance: this.instance, executionId: this.executionId };
  }

  private endTurn(turn: RunningTurn, decided: TurnResult): TurnOutcome {
    const { ledger, running } = this;
    const code = running?.code;
    const acknowledgement = finishTurn(
      {
        ...this.names(),
        ledger,
        writer: turn.writer,
        pending: turn.pending,
        droppedActivities: turn.droppedActivities,
        droppedChildren: turn.droppedChildren,
        unreceived: () => code?.mailboxes.unreceived() ?? [],
        seedKeys: this.seedKeys,
        maxPayloadBytes: this.limits.maxPayloadBytes,
        parentExecutionId: this.parentExecutionId,
        warn: (warning) => turn.warn(warning),
      },
      decided,
    );
    const keys = code?.keyValues.size ?? 0;
    if (keys > MAX_KV_KEYS) turn.warn({ kind: 'tooManyKeys', count: keys });
    const goesOn = acknowledgement.result.kind === 'continued';
    this.turn = undefined; // with it the events of history
    this.state = goesOn ? 'resting' : 'over';
    const { result, historyDelta, workerItems, orchestratorItems, cancelledActivities, metadata } = acknowledgement;
    return {
      result,
      historyDelta,
      workerItems,
      orchestratorItems,
      cancelledActivities,
      metadata,
      executionId: this.executionId,
      lastEvent: acknowledgement.historyDelta.at(-1) ?? ledger.last,
      eventCount: turn.persisted + acknowledgement.historyDelta.length,
      keepWarm: goesOn && !turn.isColdOnly,
      customStatus: code?.customStatus ?? null,
      warnings: turn.warnings,
    };
  }
}

const EMPTY_HISTORY = nondeterminism('corrupted history: empty');

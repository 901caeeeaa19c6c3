import type { Transaction } from '../provider/drizzle/executor.js';
import { decodeEvent, type HistoryEvent } from '../wire/event.js';
import { WireError } from '../wire/wire-error.js';
import { answerQuestions, Questions } from './questions.js';
import type { Findings } from './findings.js';
import type { InstanceView } from './instance-view.js';
import type {
  BeginExecutionCheck,
  ChildQuestion,
  ExecutionCheck,
  ExecutionView,
  OutputQuestion,
  ValuesQuestion,
} from './invariant.js';
import { canProceed } from './invariants/can-proceed.js';
import { completionOnce } from './invariants/completion-once.js';
import { countersAgree } from './invariants/counters-agree.js';
import { checkExecutionRows } from './invariants/execution-rows.js';
import { historyComplete } from './invariants/history-complete.js';
import { oneOutcome } from './invariants/one-outcome.js';
import { workOwner } from './invariants/work-owner.js';
import { type CheckScope, forEachPage } from './page.js';
import { type EventRow, readEvents } from './read-events.js';
import { type InstancePage, readInstances } from './read-instances.js';

const CHECKS: readonly BeginExecutionCheck[] = [
  historyComplete,
  oneOutcome,
  canProceed,
  completionOnce,
  workOwner,
  countersAgree,
];

/** Looks at every instance, with its executions and what waits for it. */
export function checkInstances(scope: CheckScope, total: Findings): Promise<void> {
  return forEachPage<string>(scope, total, async (tx, findings, _nowMs, after) => {
    const page = await readInstances(scope.ctx, tx, findings, after);
    if (!page) return undefined;
    findings.checked('instances', page.views.size);
    const questions = new Questions();
    await checkHistories(scope, tx, findings, page, questions);
    await checkExecutionRows(scope.ctx, tx, findings, page);
    await answerQuestions(scope.ctx, tx, findings, page, questions);
    return page.last;
  });
}

async function checkHistories(
  { ctx }: CheckScope,
  tx: Transaction,
  findings: Findings,
  page: InstancePage,
  questions: Questions,
): Promise<void> {
  const begin = (execution: ExecutionView) => new RunningChecks(execution, findings, questions);
  const unseen = new Map(page.views);
  let running: RunningChecks | undefined;
  for await (const row of readEvents(ctx, tx, page)) {
    const view = page.views.get(row.instance);
    if (!view) continue; // events without an instance are the business of the row checks
    if (!running?.isOf(row)) {
      running?.end();
      running = begin(executionOf(view, row.executionId, row.status));
      if (row.executionId === view.currentExecutionId) unseen.delete(row.instance);
    }
    findings.checked('events');
    running.see(row);
  }
  running?.end();
  // Current executions without any event still have a row, and something may wait for them.
  for (const view of unseen.values()) begin(executionOf(view, view.currentExecutionId, view.status)).end();
}

function executionOf(view: InstanceView, executionId: number, status: string | null): ExecutionView {
  return { view, executionId, status, isCurrent: executionId === view.currentExecutionId };
}

/** All checks of one execution, as its events come by. */
class RunningChecks {
  private readonly checks: readonly ExecutionCheck[];
  private isReadable = true;

  constructor(
    private readonly execution: ExecutionView,
    private readonly findings: Findings,
    questions: Questions,
  ) {
    const context = {
      findings,
      askChild: (question: ChildQuestion) => questions.children.push(question),
      askOutput: (question: OutputQuestion) => questions.outputs.push(question),
      askValues: (question: ValuesQuestion) => questions.values.push(question),
    };
    this.checks = CHECKS.map((beginCheck) => beginCheck(execution, context));
  }

  isOf(row: EventRow): boolean {
    const { view, executionId } = this.execution;
    return view.instance === row.instance && executionId === row.executionId;
  }

  see(row: EventRow): void {
    const event = this.read(row);
    // What follows an event that nobody can read would be judged without knowing it.
    if (!event) this.isReadable = false;
    if (!event || !this.isReadable) return;
    for (const check of this.checks) check.see({ rowEventId: row.eventId, event });
  }

  end(): void {
    if (!this.isReadable) return;
    for (const check of this.checks) check.end();
  }

  private read({ instance, executionId, eventId, text }: EventRow): HistoryEvent | undefined {
    try {
      return decodeEvent(text);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      const problem = `the event cannot be read: ${error.message}`;
      this.findings.report('history-readable', { instance, executionId, eventId, problem });
      return undefined;
    }
  }
}

import type { Clock } from '../../base/clock.js';
import type { Provider } from '../../provider/provider.js';
import type { CountView, InstanceRow, LiveMessages, OverviewView, QueueView, WorkerView } from '../views.js';
import { Cell } from './cell.js';
import { rowOfSummary } from './instance-row.js';
import { COUNTS_STATEMENTS, statementsOfPage } from './statement-costs.js';
import { supported } from './supported.js';
import { SAMPLE_SIZE, throughputOf } from './throughput.js';

export const OVERVIEW_PARTS = ['queues', 'throughput', 'counts', 'failures', 'workers'] as const;
export type OverviewPart = (typeof OVERVIEW_PARTS)[number];

const SHOWN_FAILURES = 8;
const SAMPLE_QUERY = { limit: SAMPLE_SIZE };
const FAILURES_QUERY = { status: 'Failed', limit: SHOWN_FAILURES };

/** What a part sends at most when it is read. */
const STATEMENTS: Readonly<Record<OverviewPart, number>> = {
  queues: 1,
  throughput: statementsOfPage(SAMPLE_QUERY),
  counts: COUNTS_STATEMENTS,
  failures: statementsOfPage(FAILURES_QUERY),
  workers: 1,
};
/** How often each part is read while somebody looks, in ms; together less than a statement per second. */
const EVERY_MS: Readonly<Record<OverviewPart, number>> = {
  queues: 4_000,
  throughput: 5_000,
  counts: 8_000,
  failures: 15_000,
  workers: 15_000,
};

/** What the whole store is doing. Each part is a few statements of bounded cost, and is read for all pages together. */
export class Overview {
  private readonly cells: { readonly [P in OverviewPart]: Cell<OverviewView[P]> };

  constructor(
    private readonly provider: Provider,
    private readonly clock: Clock,
  ) {
    const cell = <P extends OverviewPart>(part: P, read: () => Promise<OverviewView[P]>) =>
      new Cell(clock, EVERY_MS[part], read);
    this.cells = {
      counts: cell('counts', () => supported(() => this.counts())),
      queues: cell('queues', () => supported(() => this.queues())),
      workers: cell('workers', () => supported(() => this.workers())),
      throughput: cell('throughput', () => supported(() => this.throughput())),
      failures: cell('failures', () => supported(() => this.failures())),
    };
  }

  /** All parts; what is young enough is not read again. */
  async view(): Promise<OverviewView> {
    const { counts, queues, workers, throughput, failures } = this.cells;
    const [a, b, c, d, e] = await Promise.all([
      counts.fresh(),
      queues.fresh(),
      workers.fresh(),
      throughput.fresh(),
      failures.fresh(),
    ]);
    return { nowMs: this.provider.nowMs(), counts: a, queues: b, workers: c, throughput: d, failures: e };
  }

  dueAtMs(part: OverviewPart): number {
    return this.cells[part].dueAtMs;
  }

  /** SQL statements that a reading of the part sends at most. */
  statementsOf(part: OverviewPart): number {
    return STATEMENTS[part];
  }

  nextAfterNowMs(part: OverviewPart): number {
    return this.clock.nowMs() + EVERY_MS[part];
  }

  async refresh(part: OverviewPart): Promise<LiveMessages['overview']> {
    const value = await this.cells[part].refresh();
    return { nowMs: this.provider.nowMs(), [part]: value };
  }

  private async counts(): Promise<CountView[]> {
    const counts = await this.provider.asManagement().countByStatus();
    return counts.map(({ status, count, isEstimate }) => ({ status, count, exact: !isEstimate }));
  }

  private async queues(): Promise<QueueView[]> {
    const backlogs = await this.provider.asManagement().getQueueBacklogs();
    const nowMs = this.provider.nowMs();
    return backlogs.map(({ queue, ready, isAtLeast, oldestAtMs }) => ({
      name: queue,
      ready,
      exact: !isAtLeast,
      oldestAgeMs: oldestAtMs === null ? null : Math.max(0, nowMs - oldestAtMs),
    }));
  }

  private async workers(): Promise<WorkerView[]> {
    const workers = await this.provider.asManagement().workers();
    return workers.map((worker) => ({
      id: worker.runtimeId,
      host: worker.host,
      pid: worker.pid,
      version: worker.packageVersion,
      orchestrationSlots: { used: worker.orchestrationSlots.inUse, total: worker.orchestrationSlots.total },
      activitySlots: { used: worker.activitySlots.inUse, total: worker.activitySlots.total },
      startedAtMs: worker.startedAtMs,
      lastSeenMs: worker.lastSeenMs,
      state: worker.state,
    }));
  }

  private async throughput() {
    const { instances, next } = await this.provider.asManagement().listInstancesPage(SAMPLE_QUERY);
    return throughputOf(instances, { nowMs: this.provider.nowMs(), isWhole: next === null });
  }

  private async failures(): Promise<InstanceRow[]> {
    const page = await this.provider.asManagement().listInstancesPage(FAILURES_QUERY);
    return page.instances.map(rowOfSummary);
  }
}

import type { Overview, OverviewPart } from '../model/overview.js';
import { OVERVIEW_PARTS } from '../model/overview.js';
import { type LiveTask, Topic } from './topic.js';

/** The overview, part by part: each has its own pace. */
export class OverviewTopic extends Topic {
  readonly tasks: readonly LiveTask[];

  constructor(overview: Overview) {
    super();
    this.tasks = OVERVIEW_PARTS.map((part) => this.taskOf(overview, part));
  }

  private taskOf(overview: Overview, part: OverviewPart): LiveTask {
    const task: LiveTask = {
      dueAtMs: overview.dueAtMs(part),
      statements: overview.statementsOf(part),
      run: async () => {
        task.dueAtMs = overview.nextAfterNowMs(part);
        this.publish('overview', await overview.refresh(part));
      },
    };
    return task;
  }
}

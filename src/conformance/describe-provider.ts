import { activityCancellation } from './activity-cancellation.suite.js';
import { counts, pages, workers } from './administration.suite.js';
import { atomicity } from './atomicity.suite.js';
import { batches } from './batches.suite.js';
import { bulkDeletion } from './bulk-deletion.suite.js';
import { capabilityFiltering } from './capability-filtering.suite.js';
import type { CheckGroup } from './check.js';
import { customStatus } from './custom-status.suite.js';
import { deletion } from './deletion.suite.js';
import { directTurns } from './direct-turns.suite.js';
import { errorHandling } from './error-handling.suite.js';
import { heldHistory } from './held-history.suite.js';
import { instanceCreation } from './instance-creation.suite.js';
import { instanceLocking } from './instance-locking.suite.js';
import { interoperation } from './interoperation.suite.js';
import { kvStore } from './kv-store.suite.js';
import { lockExpiration } from './lock-expiration.suite.js';
import { management } from './management.suite.js';
import { multipleExecutions } from './multiple-executions.suite.js';
import { poisonCounters } from './poison-counters.suite.js';
import { ownWork } from './own-work.suite.js';
import { polling } from './polling.suite.js';
import type { ProviderUnderTest, Skips } from './provider-under-test.js';
import { pruning } from './pruning.suite.js';
import { queueSemantics } from './queue-semantics.suite.js';
import { races } from './races.suite.js';
import { resets } from './reset.suite.js';
import type { TestRunner } from './runner.js';
import { globalRunner } from './runner.js';
import { sessions } from './sessions.suite.js';
import { statistics } from './statistics.suite.js';
import { tagFiltering } from './tag-filtering.suite.js';
import { transactions } from './transactions.suite.js';
import { Trial } from './trial.js';
import { unreadableText } from './unreadable-text.suite.js';
import { wakeUps } from './wake-ups.suite.js';

/** Every check, by group, in the order of the checklist. */
export const conformanceGroups: readonly CheckGroup[] = [
  atomicity,
  bulkDeletion,
  activityCancellation,
  capabilityFiltering,
  customStatus,
  deletion,
  errorHandling,
  instanceCreation,
  instanceLocking,
  kvStore,
  lockExpiration,
  polling,
  management,
  multipleExecutions,
  poisonCounters,
  pruning,
  queueSemantics,
  sessions,
  tagFiltering,
  statistics,
  unreadableText,
  races,
  batches,
  heldHistory,
  transactions,
  wakeUps,
  ownWork,
  directTurns,
  interoperation,
];

/** What the administration of this package does beyond that checklist (provider.md 3.4.12). */
export const administrationGroups: readonly CheckGroup[] = [pages, counts, workers, resets];

export interface DescribeProvider {
  /** Titles of the tests start with it. */
  readonly name: string;
  /** Called before each check; the storage it gives must be empty. */
  readonly open: () => Promise<ProviderUnderTest>;
  /** What this provider cannot show on this database, and why. */
  readonly skips?: Skips;
  /** @defaultValue the runner's global functions */
  readonly runner?: TestRunner;
  /** Where the table of skips goes. @defaultValue `console.log` */
  readonly print?: (text: string) => void;
}

/**
 * Declares one test for each check of what every provider must do. Call it at the top
 * level of a test file of jest or vitest.
 * @throws RangeError when `skips` names a check that does not exist.
 */
export function describeProvider(options: DescribeProvider): void {
  declareChecks(conformanceGroups, options);
}

/**
 * Declares one test for each check of the administration that has no native counterpart:
 * pages, counts, workers and resets. The schema has to have our tables.
 * @throws RangeError when `skips` names a check that does not exist.
 */
export function describeAdministration(options: DescribeProvider): void {
  declareChecks(administrationGroups, options);
}

function declareChecks(
  groups: readonly CheckGroup[],
  { name, open, skips = {}, runner, print = console.log }: DescribeProvider,
): void {
  const { describe, test, expect } = runner ?? globalRunner();
  const known = new Set(groups.flatMap(({ checks }) => checks.map(({ id }) => id)));
  const unknown = Object.keys(skips).filter((id) => !known.has(id));
  if (unknown.length > 0) throw new RangeError(`no such conformance check: ${unknown.join(', ')}`);
  if (Object.keys(skips).length > 0) print(skipTable(name, skips));

  describe(name, () => {
    for (const group of groups) {
      describe(group.name, () => {
        for (const { id, rule, run } of group.checks) {
          const title = `P:${id} ${rule}`;
          const skip = skips[id];
          const body = async () => {
            const sut = await open();
            try {
              await run(new Trial(sut, expect));
            } finally {
              await sut.cleanup();
            }
          };
          if (skip) test.skip(`${title} [skipped, ${skip.trap}: ${skip.reason}]`, body);
          else test(title, body);
        }
      });
    }
  });
}

function skipTable(name: string, skips: Skips): string {
  const lines = Object.entries(skips).map(
    ([id, { trap, reason }]) => `  P:${id.padEnd(16)} ${trap.padEnd(5)} ${reason}`,
  );
  return [`${name}: checks that it cannot show`, ...lines].join('\n');
}

import { createHash } from 'node:crypto';
import { toStorable } from '../../base/text.js';
import { displayErrorDetails } from '../../wire/error-details.js';
import type { HistoryEvent } from '../../wire/event.js';
import type { BeginExecutionCheck } from '../invariant.js';

/** An end of an execution as its row tells it. */
interface End {
  readonly status: string;
  readonly output: string;
}

/** Status, output, custom status and key-value changes say in their rows what they say in history. */
export const countersAgree: BeginExecutionCheck = (execution, { findings, askOutput, askValues }) => {
  const { view, executionId, isCurrent, status } = execution;
  const { instance } = view;
  const ends: End[] = [];
  const values = new Map<string, string>();
  let customStatus: { readonly value: string | null } | undefined;
  const report = (problem: string) => findings.report('counters-agree', { instance, executionId, problem });

  return {
    see({ event }) {
      const end = endOf(event);
      if (end) ends.push(end);
      if (event.kind === 'CustomStatusUpdated') customStatus = { value: event.status };
      if (event.kind === 'KeyValueSet') values.set(event.key, sha256(event.value));
      else if (event.kind === 'KeyValueCleared') values.delete(event.key);
      else if (event.kind === 'KeyValuesCleared') values.clear();
    },
    end() {
      if (status === null) return report('the execution has events and no row');
      // A failure may override an end in the same turn; the row then names either (runtime.md 2.12).
      const expected = ends.length === 0 ? ['Running'] : ends.map((end) => end.status);
      if (!expected.includes(status)) report(`the row says ${status}, the history ${expected.join(' or ')}`);
      const [end, ...more] = ends;
      if (end && more.length === 0 && status === end.status) {
        askOutput({ instance, executionId, outputHash: sha256(end.output) });
      }
      if (!isCurrent || status !== 'Running') return;
      if (customStatus && view.customStatusHash !== (customStatus.value === null ? null : sha256(customStatus.value))) {
        report('the custom status of the instance is not the last one in history');
      }
      askValues({ instance, executionId, hashes: values });
    },
  };
};

function endOf(event: HistoryEvent): End | undefined {
  switch (event.kind) {
    case 'OrchestrationCompleted':
      return { status: 'Completed', output: event.output };
    case 'OrchestrationFailed':
      return { status: 'Failed', output: displayErrorDetails(event.details) };
    case 'OrchestrationContinuedAsNew':
      return { status: 'ContinuedAsNew', output: event.input };
    default:
      return undefined;
  }
}

/** As the database computes it; payloads are compared without being fetched twice. */
function sha256(text: string): string {
  return createHash('sha256').update(toStorable(text)).digest('hex');
}

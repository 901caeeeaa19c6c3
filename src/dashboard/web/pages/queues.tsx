import { useState } from 'preact/hooks';
import type { BoundedView, QueuesView, RateView, StartKeyRow, StartQueueRow } from '../../views';
import { now } from '../clock';
import { type Question, RowQuestion } from '../components/row-question';
import { Empty } from '../components/states';
import { WholePage } from '../components/whole-page';
import { coarse, count, duration } from '../format';
import { session } from '../session';

export function QueuesPage() {
  return <WholePage name="queues" title="Queues" show={(view, reload) => <Queues view={view} reload={reload} />} />;
}

function Queues({ view: { queues }, reload }: { view: QueuesView; reload: () => void }) {
  if (!queues.ok) return <p class="note">{queues.reason}</p>;
  const { rows, isPart } = queues.value;
  if (rows.length === 0) {
    return (
      <Empty icon="queue" title="No start queue yet">
        <p>
          Create one with <code>client.startQueues.create(…)</code>, and start with{' '}
          <code>client.start(…, {'{ queue }'})</code>; it appears here by itself.
        </p>
      </Empty>
    );
  }
  const mayWrite = session.value?.access === 'write';
  return (
    <>
      <table class="table queues" aria-label="Start queues">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col">State</th>
            <th scope="col">Running</th>
            <th scope="col">Waiting</th>
            <th scope="col">Oldest waiting</th>
            {mayWrite && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} mayWrite={mayWrite} reload={reload} />
          ))}
        </tbody>
      </table>
      {isPart && <p class="note">The first {count(rows.length)} are shown; the command line lists all of them.</p>}
    </>
  );
}

interface RowProps {
  readonly row: StartQueueRow;
  readonly mayWrite: boolean;
  readonly reload: () => void;
}

function Row({ row, mayWrite, reload }: RowProps) {
  const { concurrency, keys } = row;
  return (
    <tr>
      <td class="cell-id">
        <span class="row-name mono" title={row.id}>
          {row.id}
        </span>
        <span class="cell-note wrapped">{limitsOf(row)}</span>
        {keys.length > 0 && <Keys row={row} />}
      </td>
      <td class="cell-status">
        <span class={`badge ${row.isPaused ? 'other' : 'running'}`}>
          <span class="badge-mark" aria-hidden="true" />
          {row.isPaused ? 'Paused' : 'Active'}
        </span>
      </td>
      <td class="cell-count number">
        <span class="phone-label">running </span>
        {counted(row.running)}
        {concurrency !== null && <span class="quiet"> of {count(concurrency)}</span>}
      </td>
      <td class="cell-count number">
        <span class="phone-label">waiting </span>
        {counted(row.waiting)}
      </td>
      <td class="cell-oldest quiet">
        <span class="phone-label">oldest </span>
        {row.oldestWaitingAtMs === null ? '–' : ageOf(row.oldestWaitingAtMs)}
      </td>
      {mayWrite && (
        <td class="cell-actions">
          <RowActions row={row} reload={reload} />
        </td>
      )}
    </tr>
  );
}

/** Keys of which most wait; more than a few are a look away. */
function Keys({ row: { id, keys, isPartOfKeys } }: { row: StartQueueRow }) {
  return (
    <details class="queue-keys">
      <summary>
        {keys.length === 1 && !isPartOfKeys ? '1 key' : `${isPartOfKeys ? 'Top ' : ''}${keys.length} keys`}
      </summary>
      <ul aria-label={`Keys of ${id}`}>
        {keys.map((key) => (
          <li key={key.key}>
            <span class="mono breakable">{key.key}</span>
            <span class="quiet">{figuresOf(key)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function figuresOf({ waiting, running, oldestWaitingAtMs }: StartKeyRow): string {
  const parts = [`${count(running)} running`, `${count(waiting)} waiting`];
  if (oldestWaitingAtMs !== null) parts.push(`oldest ${ageOf(oldestWaitingAtMs)}`);
  return parts.join(' · ');
}

function limitsOf({ concurrency, concurrencyPerKey, rate, ratePerKey }: StartQueueRow): string {
  const limits = [
    concurrency !== null && `${count(concurrency)} at once`,
    concurrencyPerKey !== null && `${count(concurrencyPerKey)} at once per key`,
    rate !== null && rateOf(rate),
    ratePerKey !== null && `${rateOf(ratePerKey)} per key`,
  ].filter((limit) => limit !== false);
  return limits.length === 0 ? 'no limits' : limits.join(' · ');
}

function rateOf({ limit, periodMs }: RateView): string {
  return `${count(limit)} in ${duration(periodMs)}`;
}

function counted({ count: value, isAtLeast }: BoundedView): string {
  return `${count(value)}${isAtLeast ? '+' : ''}`;
}

function ageOf(atMs: number): string {
  return coarse(Math.max(0, now.value - atMs));
}

type Action = 'pause' | 'resume';

function RowActions({ row, reload }: Pick<RowProps, 'row' | 'reload'>) {
  const [asked, setAsked] = useState<Action>();
  const action = row.isPaused ? 'resume' : 'pause';
  const label = row.isPaused ? 'Resume' : 'Pause';
  return (
    <div class="row-actions">
      <button type="button" class="button small" aria-label={`${label} ${row.id}`} onClick={() => setAsked(action)}>
        {label}
      </button>
      {asked && (
        <RowQuestion
          question={QUESTIONS[asked]}
          action={`queue/${asked}`}
          id={row.id}
          reload={reload}
          close={() => setAsked(undefined)}
        />
      )}
    </div>
  );
}

const QUESTIONS: Readonly<Record<Action, Question>> = {
  pause: {
    title: 'Pause this queue?',
    action: 'Pause',
    text: 'lets nothing in until it is resumed. What runs goes on, and starts wait.',
    done: 'The queue is paused',
  },
  resume: {
    title: 'Resume this queue?',
    action: 'Resume',
    text: 'lets in what waits, as far as its limits allow.',
    done: 'The queue lets starts in again',
  },
};

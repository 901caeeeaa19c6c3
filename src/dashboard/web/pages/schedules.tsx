import { useState } from 'preact/hooks';
import type { ScheduleRow, SchedulesView } from '../../views';
import { addressOf } from '../api';
import { Icon } from '../components/icon';
import { type Question, RowQuestion } from '../components/row-question';
import { Empty } from '../components/states';
import { Ago } from '../components/time';
import { WholePage } from '../components/whole-page';
import { count, duration } from '../format';
import { instanceAddress, Link } from '../router';
import { session } from '../session';

export function SchedulesPage() {
  return (
    <WholePage name="schedules" title="Schedules" show={(view, reload) => <Schedules view={view} reload={reload} />} />
  );
}

function Schedules({ view: { schedules }, reload }: { view: SchedulesView; reload: () => void }) {
  if (!schedules.ok) return <p class="note">{schedules.reason}</p>;
  const { rows, total } = schedules.value;
  if (total === 0) {
    return (
      <Empty icon="timer" title="No schedule yet">
        <p>
          Create one with <code>client.schedules.create(…)</code>, or <code>npx duroxide-drizzle schedules create</code>
          ; it appears here by itself.
        </p>
      </Empty>
    );
  }
  const mayWrite = session.value?.access === 'write';
  return (
    <>
      <table class="table schedules" aria-label="Schedules">
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">State</th>
            <th scope="col">Orchestration</th>
            <th scope="col">Next fire</th>
            <th scope="col">Last fire</th>
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
      {rows.length < total && (
        <p class="note">
          The first {count(rows.length)} of {count(total)} are shown; the command line lists all of them.
        </p>
      )}
    </>
  );
}

interface RowProps {
  readonly row: ScheduleRow;
  readonly mayWrite: boolean;
  readonly reload: () => void;
}

function Row({ row, mayWrite, reload }: RowProps) {
  return (
    <tr>
      <td class="cell-id">
        <Link to={addressOf('/instances', { id: `${row.id}@` })} class="row-link mono" title={row.id}>
          {row.id}
        </Link>
        <span class="cell-note">
          <span class="mono">{timesOf(row)}</span>
          {row.queue !== null && <> · through queue {row.queue}</>}
          {row.overlap === 'skip' && row.overlapCount > 0 && <> · {count(row.overlapCount)} left out, one still ran</>}
        </span>
        {row.problem !== null && <span class="schedule-problem">{row.problem}</span>}
      </td>
      <td class="cell-status">
        <State row={row} />
      </td>
      <td class="cell-name">
        <span>{row.orchestration}</span>
        {row.version !== null && <span class="version">{row.version}</span>}
      </td>
      <td class="cell-next quiet">
        <span class="phone-label">next </span>
        {row.nextFireAtMs === null ? '–' : <Ago atMs={row.nextFireAtMs} />}
      </td>
      <td class="cell-last quiet">
        <span class="phone-label">last </span>
        {row.lastFireAtMs === null ? (
          '–'
        ) : row.lastInstanceId === null ? (
          <Ago atMs={row.lastFireAtMs} />
        ) : (
          <Link to={instanceAddress(row.lastInstanceId)} class="above-row">
            <Ago atMs={row.lastFireAtMs} />
          </Link>
        )}
      </td>
      {mayWrite && (
        <td class="cell-actions">
          <RowActions row={row} reload={reload} />
        </td>
      )}
    </tr>
  );
}

function State({ row }: { row: ScheduleRow }) {
  const [kind, word] =
    row.isPaused && row.problem !== null
      ? ['failed', 'Stopped']
      : row.isPaused
        ? ['other', 'Paused']
        : row.nextFireAtMs === null
          ? ['completed', 'Over']
          : ['running', 'Active'];
  return (
    <span class={`badge ${kind}`}>
      <span class="badge-mark" aria-hidden="true" />
      {word}
    </span>
  );
}

function timesOf({ cron, timeZone, everyMs }: ScheduleRow): string {
  return cron === null ? `every ${duration(everyMs ?? 0)}` : `${cron} ${timeZone}`;
}

type Action = 'pause' | 'resume' | 'trigger' | 'delete';

function RowActions({ row, reload }: Pick<RowProps, 'row' | 'reload'>) {
  const [asked, setAsked] = useState<Action>();
  const button = (action: Action, label: string, style = '') => (
    <button
      type="button"
      class={`button small ${style}`}
      aria-label={`${label} ${row.id}`}
      onClick={() => setAsked(action)}
    >
      {label}
    </button>
  );
  return (
    <div class="row-actions above-row">
      {button('trigger', 'Run now')}
      {row.isPaused ? button('resume', 'Resume') : button('pause', 'Pause')}
      <button
        type="button"
        class="icon-button"
        title="Delete"
        aria-label={`Delete ${row.id}`}
        onClick={() => setAsked('delete')}
      >
        <Icon name="trash" />
      </button>
      {asked && (
        <RowQuestion
          question={QUESTIONS[asked]}
          action={`schedule/${asked}`}
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
    title: 'Pause this schedule?',
    action: 'Pause',
    text: 'starts nothing until it is resumed. What comes due meanwhile is left out for good.',
    done: 'The schedule is paused',
  },
  resume: {
    title: 'Resume this schedule?',
    action: 'Resume',
    text: 'fires again, from now on.',
    done: 'The schedule fires again',
  },
  trigger: {
    title: 'Run it now?',
    action: 'Run now',
    text: 'starts an instance at once, beside its times, whether or not one still runs.',
    done: 'An instance was started',
  },
  delete: {
    title: 'Delete this schedule?',
    action: 'Delete for ever',
    tone: 'danger',
    text: 'is removed for good. Its instances stay.',
    done: 'The schedule was deleted',
  },
};

import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EventView, HistoryView } from '../../views';
import { getJson } from '../api';
import { Icon, type IconName } from '../components/icon';
import { Payload } from '../components/payload';
import { duration, moment, words } from '../format';
import { instanceAddress, Link, params } from '../router';
import { eventPayloadAddress } from './instance';

const MORE = 200;

interface HistoryProps {
  readonly id: string;
  readonly history: HistoryView;
  readonly setEvents: (change: (events: readonly EventView[]) => readonly EventView[]) => void;
}

/** Every event of the execution, in order. */
export function History({ id, history, setEvents }: HistoryProps) {
  const { events, total, executionId } = history;
  const [problem, setProblem] = useState('');
  const wanted = Number(params.value.get('event'));
  const startMs = history.timeline.fromMs;
  const load = async (query: { after?: number; before?: number; limit?: number }) => {
    setProblem('');
    try {
      const page = await getJson<HistoryView>('/api/history', { id, execution: executionId, limit: MORE, ...query });
      setEvents((old) => {
        const known = new Map([...old, ...page.events].map((event) => [event.eventId, event]));
        return [...known.values()].sort((a, b) => a.eventId - b.eventId);
      });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  // A bar of the time line may lead to an event that is not loaded yet.
  const isMissing = wanted > 0 && !events.some(({ eventId }) => eventId === wanted);
  useEffect(() => {
    if (isMissing) void load({ after: Math.max(0, wanted - 20) });
  }, [wanted, isMissing]);
  return (
    <div class="history">
      <ol class="events">
        {events.map((event, index) => {
          const before = events[index - 1]?.eventId ?? 0;
          return (
            <Fragment key={event.eventId}>
              {event.eventId > before + 1 && (
                <li class="gap">
                  <button type="button" class="button small" onClick={() => void load({ after: before })}>
                    Show events {before + 1} to {event.eventId - 1}
                  </button>
                </li>
              )}
              <Event id={id} history={history} event={event} startMs={startMs} isWanted={event.eventId === wanted} />
            </Fragment>
          );
        })}
      </ol>
      {problem !== '' && (
        <p class="form-error" role="alert">
          {problem}
        </p>
      )}
      {events.length < total && (
        <p class="pager inner">
          <span class="quiet">
            {events.length} of {total} events
          </span>
          <span class="grow" />
          <button type="button" class="button" onClick={() => void load({ before: Number.MAX_SAFE_INTEGER })}>
            The newest
          </button>
          <button type="button" class="button" onClick={() => void load({ after: events.at(-1)?.eventId ?? 0 })}>
            {MORE} more
          </button>
        </p>
      )}
    </div>
  );
}

interface EventProps {
  readonly id: string;
  readonly history: HistoryView;
  readonly event: EventView;
  readonly startMs: number;
  readonly isWanted: boolean;
}

function Event({ id, history, event, startMs, isWanted }: EventProps) {
  const [open, setOpen] = useState(isWanted);
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!isWanted) return;
    setOpen(true);
    place.current?.scrollIntoView({ block: 'center' });
  }, [isWanted]);
  const { icon, tone } = lookOf(event.kind);
  const preview = event.payloads[0]?.text ?? (event.fireAtMs === null ? '' : `fires at ${moment(event.fireAtMs)}`);
  return (
    <li ref={place} class={`event ${tone} ${isWanted ? 'wanted' : ''}`}>
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span class="event-id number">{event.eventId}</span>
          <span class="event-icon">
            <Icon name={icon} size={14} />
          </span>
          <span class="event-what">
            <span class="event-kind">{words(event.kind)}</span>
            {event.subject !== null && <span class="event-subject">{event.subject}</span>}
          </span>
          <span class="event-preview mono">{open ? '' : preview.slice(0, 160)}</span>
          <time class="event-time number" dateTime={new Date(event.atMs).toISOString()} title={moment(event.atMs)}>
            +{duration(event.atMs - startMs)}
          </time>
        </summary>
        {open && (
          <div class="event-body">
            <dl class="facts small">
              <div class="fact">
                <dt>At</dt>
                <dd>{moment(event.atMs)}</dd>
              </div>
              {event.source !== null && (
                <div class="fact">
                  <dt>Ends event</dt>
                  <dd>{event.source}</dd>
                </div>
              )}
              {event.fireAtMs !== null && (
                <div class="fact">
                  <dt>Fires at</dt>
                  <dd>{moment(event.fireAtMs)}</dd>
                </div>
              )}
              {event.child !== null && (
                <div class="fact">
                  <dt>Instance</dt>
                  <dd>
                    <Link to={instanceAddress(event.child)} class="mono">
                      {event.child}
                    </Link>
                  </dd>
                </div>
              )}
            </dl>
            {event.payloads.map((payload) => (
              <Payload
                key={payload.field}
                payload={payload}
                href={eventPayloadAddress(id, history, event, payload.field)}
              />
            ))}
          </div>
        )}
      </details>
    </li>
  );
}

function lookOf(kind: string): { icon: IconName; tone: string } {
  const tone = kind.endsWith('Failed')
    ? 'failed'
    : kind.endsWith('Cancelled') || kind.endsWith('CancelRequested')
      ? 'cancelled'
      : kind.endsWith('Completed') || kind.endsWith('Fired')
        ? 'ok'
        : 'plain';
  const icon: IconName = kind.startsWith('Activity')
    ? 'activity'
    : kind.startsWith('Timer')
      ? 'timer'
      : kind.startsWith('SubOrchestration')
        ? 'child'
        : kind === 'OrchestrationChained'
          ? 'detached'
          : kind.includes('Persistent')
            ? 'queue'
            : kind.startsWith('External')
              ? 'event'
              : kind.startsWith('KeyValue')
                ? 'key'
                : kind === 'CustomStatusUpdated'
                  ? 'status'
                  : 'flow';
  return { icon, tone };
}

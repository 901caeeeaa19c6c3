import type { LaneView, SegmentView, TimelineView } from '../../views';
import { now } from '../clock';
import { Icon, type IconName } from '../components/icon';
import { Empty } from '../components/states';
import { coarse, duration, moment } from '../format';
import { instanceAddress, Link, setParams } from '../router';

const ICONS: Readonly<Record<LaneView['kind'], IconName>> = {
  activity: 'activity',
  timer: 'timer',
  event: 'event',
  queue: 'queue',
  child: 'child',
  detached: 'detached',
};
const NOUNS: Readonly<Record<LaneView['kind'], string>> = {
  activity: 'activity',
  timer: 'timer',
  event: 'wait for event',
  queue: 'wait for message',
  child: 'child',
  detached: 'detached instance',
};
const OUTCOMES = { ok: 'done', failed: 'failed', cancelled: 'cancelled', open: 'going on' } as const;
const TICKS = 5;

/** What the execution did, as bars over time. A bar leads to its event in the history. */
export function Timeline({ timeline }: { timeline: TimelineView }) {
  if (timeline.lanes.length === 0) {
    return (
      <Empty icon="flow" title="Nothing scheduled yet">
        <p>Activities, timers, waits and children appear here as the orchestration schedules them.</p>
      </Empty>
    );
  }
  const endMs = timeline.toMs ?? Math.max(now.value, timeline.fromMs + 1);
  const spanMs = Math.max(1, endMs - timeline.fromMs);
  const at = (ms: number) => Math.min(100, Math.max(0, ((ms - timeline.fromMs) / spanMs) * 100));
  return (
    <div class="timeline">
      <div class="lane axis" aria-hidden="true">
        <span />
        <div class="track">
          {Array.from({ length: TICKS }, (_, index) => (
            <span key={index} class="tick" style={{ left: `${(index / (TICKS - 1)) * 100}%` }}>
              {index === 0 ? '0' : duration((spanMs * index) / (TICKS - 1))}
            </span>
          ))}
        </div>
        <span />
      </div>
      {timeline.omitted > 0 && (
        <p class="note">{timeline.omitted} earlier ones are left out; the history has them all.</p>
      )}
      <ol class="lanes">
        {timeline.lanes.map((lane) => (
          <Lane key={lane.segments[0]?.eventId} lane={lane} at={at} endMs={endMs} />
        ))}
      </ol>
      <ul class="timeline-legend" aria-hidden="true">
        {(['ok', 'failed', 'cancelled', 'open'] as const).map((outcome) => (
          <li key={outcome}>
            <span class={`bar sample ${outcome}`} /> {OUTCOMES[outcome]}
          </li>
        ))}
        <li>
          <span class="bar sample pause" /> pause before a retry
        </li>
      </ul>
    </div>
  );
}

interface LaneProps {
  readonly lane: LaneView;
  readonly at: (ms: number) => number;
  readonly endMs: number;
}

function Lane({ lane, at, endMs }: LaneProps) {
  const first = lane.segments[0];
  const last = lane.segments.at(-1);
  if (!first || !last) return null;
  const tries = lane.segments.length;
  const totalMs = (last.toMs ?? endMs) - first.fromMs;
  return (
    <li class={`lane ${lane.kind}`}>
      <span class="lane-label">
        <span class={`lane-icon ${last.outcome}`} title={NOUNS[lane.kind]}>
          <Icon name={ICONS[lane.kind]} size={14} />
        </span>
        {lane.child === null ? (
          <span class="lane-name" title={lane.label}>
            {lane.label}
          </span>
        ) : (
          <Link to={instanceAddress(lane.child)} class="lane-name" title={lane.child}>
            {lane.label}
          </Link>
        )}
        {tries > 1 && <span class="tries">{tries} attempts</span>}
      </span>
      <div class="track">
        {lane.segments.map((segment, index) => {
          const next = lane.segments[index + 1];
          return [
            <Bar key={segment.eventId} lane={lane} segment={segment} attempt={index + 1} at={at} endMs={endMs} />,
            next && segment.toMs !== null && (
              <span
                key={`pause ${segment.eventId}`}
                class="bar pause"
                style={{ left: `${at(segment.toMs)}%`, width: `${at(next.fromMs) - at(segment.toMs)}%` }}
              />
            ),
          ];
        })}
      </div>
      <span class="lane-time number">{last.toMs === null ? coarse(totalMs) : duration(totalMs)}</span>
    </li>
  );
}

interface BarProps extends LaneProps {
  readonly segment: SegmentView;
  readonly attempt: number;
}

function Bar({ lane, segment, attempt, at, endMs }: BarProps) {
  const left = at(segment.fromMs);
  const width = at(segment.toMs ?? endMs) - left;
  const took = (segment.toMs ?? endMs) - segment.fromMs;
  const parts = [
    `${NOUNS[lane.kind]} ${lane.label}`,
    lane.segments.length > 1 ? `attempt ${attempt} of ${lane.segments.length}` : '',
    `${OUTCOMES[segment.outcome]}, ${segment.toMs === null ? coarse(took) : duration(took)}`,
    `from ${moment(segment.fromMs)}`,
    lane.fireAtMs !== null && segment.toMs === null ? `fires at ${moment(lane.fireAtMs)}` : '',
    `event ${segment.eventId}${segment.endEventId === null ? '' : ` to ${segment.endEventId}`}`,
  ];
  return (
    <button
      type="button"
      class={`bar ${segment.outcome}`}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={parts.filter(Boolean).join('\n')}
      aria-label={parts.filter(Boolean).join(', ')}
      onClick={() => setParams({ tab: 'history', event: String(segment.endEventId ?? segment.eventId) })}
    />
  );
}

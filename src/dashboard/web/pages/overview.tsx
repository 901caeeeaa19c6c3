import type { ComponentChildren } from 'preact';
import type { CountView, OverviewView, Part, QueueView, WorkerView } from '../../views';
import { addressOf } from '../api';
import { now } from '../clock';
import { ThroughputChart } from '../components/chart';
import { Icon } from '../components/icon';
import { InstanceTable } from '../components/instance-table';
import { Empty, Failure, Skeleton } from '../components/states';
import { Ago } from '../components/time';
import { coarse, count } from '../format';
import { useLive } from '../live';
import { useLoad } from '../load';
import { Link } from '../router';

/** A worker that was heard of so long ago may be busy or lost, in ms. */
const LATE_MS = 90_000;

export function OverviewPage() {
  const { value, error, reload, set } = useLoad<OverviewView>('/api/overview', {});
  useLive(addressOf('/api/live/overview'), { overview: (parts) => set((old) => ({ ...old, ...parts })) }, reload);
  return (
    <main class="page" id="content">
      <h1 class="visually-hidden">Overview</h1>
      {value ? <Overview {...value} /> : error ? <Failure error={error} retry={reload} /> : <Loading />}
    </main>
  );
}

function Overview({ counts, queues, workers, throughput, failures }: OverviewView) {
  return (
    <>
      <div class="stats">
        <Counts counts={counts} />
        <Queues queues={queues} />
        <WorkerCount workers={workers} />
      </div>
      <section class="card">
        <header class="card-head">
          <h2>Throughput</h2>
        </header>
        {throughput.ok ? (
          throughput.value.sampleSize === 0 ? (
            <Empty icon="flow" title="No instance yet">
              <p>
                Start one with <code>client.startOrchestration(id, name, input)</code>; it appears here by itself.
              </p>
            </Empty>
          ) : (
            <ThroughputChart data={throughput.value} />
          )
        ) : (
          <Missing reason={throughput.reason} />
        )}
      </section>
      <div class="columns">
        <section class="card">
          <header class="card-head">
            <h2>Latest failures</h2>
            <Link to={addressOf('/instances', { status: 'Failed' })} class="more">
              All failures <Icon name="chevron" size={12} />
            </Link>
          </header>
          {!failures.ok ? (
            <Missing reason={failures.reason} />
          ) : failures.value.length === 0 ? (
            hasFailed(counts) ? (
              <Empty icon="check" title="None of the newest has failed">
                <p>There are older failures; “All failures” finds them.</p>
              </Empty>
            ) : (
              <Empty icon="check" title="Nothing has failed" />
            )
          ) : (
            <InstanceTable rows={failures.value} label="Latest failures" />
          )}
        </section>
        <section class="card">
          <header class="card-head">
            <h2>Workers</h2>
          </header>
          {!workers.ok ? (
            <Missing reason={workers.reason} />
          ) : workers.value.length === 0 ? (
            <Empty icon="activity" title="No worker has been heard of">
              <p>Instances wait until a runtime is started.</p>
            </Empty>
          ) : (
            <ul class="workers">
              {workers.value.map((worker) => (
                <Worker key={worker.id} worker={worker} />
              ))}
            </ul>
          )}
        </section>
      </div>
    </>
  );
}

function Stat({
  label,
  value,
  note,
  tone,
  to,
}: {
  label: string;
  value: string;
  note?: ComponentChildren;
  tone?: string;
  to?: string;
}) {
  const body = (
    <>
      <span class="stat-label">{label}</span>
      <span class="stat-value number">{value}</span>
      <span class="stat-note">{note}</span>
    </>
  );
  return to === undefined ? (
    <div class={`stat ${tone ?? ''}`}>{body}</div>
  ) : (
    <Link to={to} class={`stat ${tone ?? ''}`}>
      {body}
    </Link>
  );
}

function Counts({ counts }: { counts: Part<readonly CountView[]> }) {
  if (!counts.ok) return <Missing reason={counts.reason} />;
  const of = (status: string) => counts.value.find((one) => one.status === status);
  const text = (one: CountView | undefined) => (one ? (one.exact ? '' : '≈ ') + count(one.count) : '0');
  const stat = (status: string, label: string, tone: string) => (
    <Stat
      label={label}
      value={text(of(status))}
      tone={tone}
      to={addressOf('/instances', { status })}
      note={of(status)?.exact === false ? 'estimated' : undefined}
    />
  );
  return (
    <>
      {stat('Running', 'Running', 'running')}
      {stat('Completed', 'Completed', 'completed')}
      {stat('Failed', 'Failed', 'failed')}
    </>
  );
}

/** One look for the latest failures goes back a bounded way: to find none is not to have none. */
function hasFailed(counts: Part<readonly CountView[]>): boolean {
  return counts.ok && counts.value.some(({ status, count: many }) => status === 'Failed' && many > 0);
}

function Queues({ queues }: { queues: Part<readonly QueueView[]> }) {
  if (!queues.ok) return <Missing reason={queues.reason} />;
  return (
    <>
      {queues.value.map(({ name, ready, exact, oldestAgeMs }) => (
        <Stat
          key={name}
          label={name === 'worker' ? 'Activities waiting' : 'Messages waiting'}
          value={count(ready) + (exact ? '' : '+')}
          tone={oldestAgeMs !== null && oldestAgeMs > 60_000 ? 'late' : ''}
          note={
            oldestAgeMs === null
              ? ready === 0
                ? 'the queue is empty'
                : undefined
              : `the oldest for ${coarse(oldestAgeMs)}`
          }
        />
      ))}
    </>
  );
}

function WorkerCount({ workers }: { workers: Part<readonly WorkerView[]> }) {
  if (!workers.ok) return <Stat label="Workers" value="–" note="not recorded here" />;
  const running = workers.value.filter(({ state }) => state === 'running');
  const gone = workers.value.filter(({ state }) => state === 'gone').length;
  const used = running.reduce(
    (sum, { activitySlots, orchestrationSlots }) => sum + activitySlots.used + orchestrationSlots.used,
    0,
  );
  const note = gone > 0 ? `${gone} gone` : running.length === 0 ? 'none is running' : `${used} slots in use`;
  return (
    <Stat
      label="Workers"
      value={count(running.length)}
      tone={gone > 0 || running.length === 0 ? 'late' : ''}
      note={note}
    />
  );
}

function Worker({ worker }: { worker: WorkerView }) {
  const late = worker.state === 'running' && now.value - worker.lastSeenMs > LATE_MS;
  return (
    <li class={`worker ${late ? 'late' : worker.state}`}>
      <span class="worker-mark" aria-hidden="true" />
      <div class="worker-main">
        <span class="worker-name">
          <span class="mono">{worker.host}</span> <span class="quiet">pid {worker.pid}</span>
        </span>
        <span class="quiet">
          {worker.state === 'running' ? (
            <>
              up {coarse(Math.max(0, now.value - worker.startedAtMs))} · seen <Ago atMs={worker.lastSeenMs} />
            </>
          ) : (
            <>
              {worker.state} · seen <Ago atMs={worker.lastSeenMs} />
            </>
          )}
          {' · '}
          {worker.version}
        </span>
      </div>
      {worker.state === 'running' && (
        <div class="worker-slots">
          <Slots label="turns" {...worker.orchestrationSlots} />
          <Slots label="activities" {...worker.activitySlots} />
        </div>
      )}
    </li>
  );
}

function Slots({ label, used, total }: { label: string; used: number; total: number }) {
  return (
    <label class="slots">
      <span class="quiet">
        {label}{' '}
        <span class="number">
          {used}/{total}
        </span>
      </span>
      <meter min={0} max={Math.max(1, total)} value={used} />
    </label>
  );
}

function Missing({ reason }: { reason: string }) {
  return <p class="note">{reason}</p>;
}

function Loading() {
  return (
    <>
      <div class="stats">
        {[0, 1, 2, 3, 4, 5].map((index) => (
          <div key={index} class="stat">
            <Skeleton lines={2} />
          </div>
        ))}
      </div>
      <section class="card">
        <Skeleton lines={6} />
      </section>
    </>
  );
}

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EventView, HistoryView, InstanceView } from '../../views';
import { addressOf } from '../api';
import { Copy, Payload } from '../components/payload';
import { Icon } from '../components/icon';
import { Empty, Failure, Skeleton } from '../components/states';
import { StatusBadge } from '../components/status-badge';
import { Ago, Took } from '../components/time';
import { moment } from '../format';
import { useLive } from '../live';
import { useLoad } from '../load';
import { instanceAddress, Link, params, setParams } from '../router';
import { Actions } from './instance-actions';
import { Family } from './family';
import { History } from './history';
import { Timeline } from './timeline';
import { Values } from './values';

const EVENTS_PER_PAGE = 200;

export function InstancePage() {
  const id = params.value.get('id') ?? '';
  // Another instance is another page: nothing of the one before may linger.
  return <Instance key={id} id={id} />;
}

function Instance({ id }: { id: string }) {
  const chosen = params.value.get('execution') ?? undefined;
  const detail = useLoad<InstanceView>('/api/instance', { id });
  const history = useLoad<HistoryView>('/api/history', { id, execution: chosen, limit: EVENTS_PER_PAGE });
  const [gone, setGone] = useState(false);
  const reload = () => {
    detail.reload();
    history.reload();
  };
  useLive(
    detail.error?.status === 404 ? null : addressOf('/api/live/instance', { id }),
    {
      instance: (parts) => detail.set((old) => ({ ...old, ...parts })),
      history: (fresh) => {
        if (chosen === undefined || fresh.executionId === Number(chosen)) history.set((old) => merged(old, fresh));
        detail.set((old) => ({
          ...old,
          row: {
            ...old.row,
            status: fresh.status === 'ContinuedAsNew' ? 'Running' : fresh.status,
            executionId: fresh.executionId,
            customStatus: fresh.customStatus,
          },
        }));
      },
      gone: () => setGone(true),
    },
    reload,
  );
  useEffect(() => {
    document.title = `${id} · duroxide`;
  }, [id]);

  if (detail.value === undefined) {
    return (
      <main class="page" id="content">
        {detail.error ? (
          <section class="card">
            <Failure error={detail.error} retry={reload} />
          </section>
        ) : (
          <section class="card">
            <Skeleton lines={8} label="Loading the instance" />
          </section>
        )}
      </main>
    );
  }
  if (gone) {
    return (
      <main class="page" id="content">
        <section class="card">
          <Empty icon="trash" title="This instance was deleted">
            <Link class="button" to={addressOf('/instances')}>
              To the list
            </Link>
          </Empty>
        </section>
      </main>
    );
  }
  return (
    <main class="page" id="content">
      <Head id={id} detail={detail.value} history={history.value} reload={reload} />
      <Tabs
        tabs={[
          {
            name: 'timeline',
            label: 'Time line',
            body: () =>
              history.value ? (
                <Timeline timeline={history.value.timeline} />
              ) : history.error ? (
                <Failure error={history.error} retry={history.reload} />
              ) : (
                <Skeleton lines={8} label="Loading the time line" />
              ),
          },
          {
            name: 'history',
            label: 'History',
            count: history.value?.total,
            body: () =>
              history.value ? (
                <History
                  id={id}
                  history={history.value}
                  setEvents={(change) => history.set((old) => ({ ...old, events: change(old.events) }))}
                />
              ) : history.error ? (
                <Failure error={history.error} retry={history.reload} />
              ) : (
                <Skeleton lines={8} label="Loading the history" />
              ),
          },
          {
            name: 'family',
            label: 'Children',
            count: detail.value.children.rows.length,
            plus: detail.value.children.next !== null,
            body: () => detail.value && <Family id={id} detail={detail.value} />,
          },
          {
            name: 'values',
            label: 'Key–values',
            count: detail.value.values.length,
            body: () => detail.value && <Values id={id} values={detail.value.values} />,
          },
        ]}
      />
    </main>
  );
}

interface HeadProps {
  readonly id: string;
  readonly detail: InstanceView;
  readonly history: HistoryView | undefined;
  readonly reload: () => void;
}

function Head({ id, detail, history, reload }: HeadProps) {
  const { row, output, ancestors, executions } = detail;
  const hasEnded = row.status === 'Completed' || row.status === 'Failed';
  const customStatus = history && history.executionId === row.executionId ? history.customStatus : row.customStatus;
  const input = history?.events.find(({ kind }) => kind === 'OrchestrationStarted');
  return (
    <section class="card instance-head">
      {ancestors.length > 0 && (
        <nav class="crumbs" aria-label="Parents">
          {ancestors.map(({ id: ancestor, name }) => (
            <span key={ancestor}>
              <Link to={instanceAddress(ancestor)} class="mono" title={name}>
                {ancestor}
              </Link>
              <Icon name="chevron" size={12} />
            </span>
          ))}
        </nav>
      )}
      <div class="title-row">
        <h1 class="mono">{id}</h1>
        <Copy text={id} what="the id" />
        <StatusBadge status={row.status} />
        <span class="grow" />
        <Actions id={id} detail={detail} history={history} reload={reload} />
      </div>
      <dl class="facts">
        <Fact label="Orchestration">
          {row.name} <span class="version">{row.version}</span>
        </Fact>
        <Fact label="Started">
          <span title={moment(row.createdAtMs)}>
            <Ago atMs={row.createdAtMs} />
          </span>
        </Fact>
        <Fact label={hasEnded ? 'Took' : 'Running for'}>
          <Took fromMs={row.createdAtMs} toMs={hasEnded ? (row.completedAtMs ?? row.updatedAtMs) : null} exact />
        </Fact>
        <Fact label="Execution">
          {executions.length > 1 ? (
            <select
              aria-label="Execution"
              value={params.value.get('execution') ?? ''}
              onChange={({ currentTarget: { value } }) =>
                setParams({ execution: value || undefined }, { replace: true })
              }
            >
              <option value="">{row.executionId} (current)</option>
              {[...executions].reverse().map((execution) =>
                execution === row.executionId ? null : (
                  <option key={execution} value={String(execution)}>
                    {execution}
                  </option>
                ),
              )}
            </select>
          ) : (
            row.executionId
          )}
        </Fact>
      </dl>
      {customStatus !== null && (
        <div class="custom-status" aria-live="polite">
          <Icon name="status" />
          <span class="quiet">Custom status</span>
          <span class="mono">{customStatus}</span>
        </div>
      )}
      <div class="ends">
        {input?.payloads[0] && (
          <Payload payload={input.payloads[0]} href={eventPayloadAddress(id, history, input, 'input')} label="Input" />
        )}
        {output && (
          <div class={row.status === 'Failed' ? 'failed-output' : ''}>
            <Payload
              payload={output}
              href={addressOf('/api/output', { id })}
              label={row.status === 'Failed' ? 'Error' : 'Output'}
            />
          </div>
        )}
      </div>
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface Tab {
  readonly name: string;
  readonly label: string;
  readonly count?: number | undefined;
  readonly plus?: boolean;
  readonly body: () => ComponentChildren;
}

/** Tabs as screen readers know them: arrows go from one to the next. */
function Tabs({ tabs }: { tabs: readonly Tab[] }) {
  const wanted = params.value.get('tab');
  const at = Math.max(
    0,
    tabs.findIndex(({ name }) => name === wanted),
  );
  const current = tabs[at];
  const choose = (index: number) => {
    const tab = tabs[(index + tabs.length) % tabs.length];
    if (!tab) return;
    setParams({ tab: tab === tabs[0] ? undefined : tab.name }, { replace: true });
    document.getElementById(`tab-${tab.name}`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight') choose(at + 1);
    else if (event.key === 'ArrowLeft') choose(at - 1);
  };
  return (
    <section class="card flush">
      <div class="tabs" role="tablist" aria-label="Parts of the instance" onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <button
            key={tab.name}
            id={`tab-${tab.name}`}
            type="button"
            role="tab"
            aria-selected={index === at}
            aria-controls="tab-body"
            tabIndex={index === at ? 0 : -1}
            onClick={() => choose(index)}
          >
            {tab.label}
            {tab.count !== undefined && (
              <span class="count number">
                {tab.count}
                {tab.plus ? '+' : ''}
              </span>
            )}
          </button>
        ))}
      </div>
      <div id="tab-body" role="tabpanel" aria-labelledby={`tab-${current?.name ?? ''}`} class="tab-body">
        {current?.body()}
      </div>
    </section>
  );
}

/** What is new joins what is shown; where something between is missing, the history says so by its total. */
function merged(old: HistoryView, fresh: HistoryView): HistoryView {
  if (old.executionId !== fresh.executionId || fresh.total < old.total) return { ...fresh };
  const last = old.events.at(-1)?.eventId ?? 0;
  const isWhole = old.events.length >= old.total;
  const next = fresh.events.filter(({ eventId }) => eventId > last);
  const joins = isWhole && (next[0] === undefined || next[0].eventId === last + 1);
  return { ...fresh, events: joins ? [...old.events, ...next] : old.events };
}

export function eventPayloadAddress(
  id: string,
  history: HistoryView | undefined,
  event: EventView,
  field: string,
): string {
  return addressOf('/api/payload', { id, execution: history?.executionId, event: event.eventId, field });
}

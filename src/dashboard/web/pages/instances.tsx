import { useRef } from 'preact/hooks';
import type { InstancePageView } from '../../views';
import { addressOf } from '../api';
import { heardTime } from '../clock';
import { Icon } from '../components/icon';
import { InstanceTable } from '../components/instance-table';
import { Empty, Failure, Skeleton } from '../components/states';
import { count } from '../format';
import { useLive } from '../live';
import { useLoad } from '../load';
import { navigate, params, path, setParams } from '../router';
import { Filters, FILTER_NAMES } from './filters';

const PAGE = 50;

export function InstancesPage() {
  const atMs = momentOfPage(params.value);
  const query = queryOf(params.value, atMs);
  const { value, error, isLoading, reload, set } = useLoad<InstancePageView>('/api/instances', query);
  useLive(
    addressOf('/api/live/instances', query),
    {
      list: ({ nowMs, ...page }) => {
        heardTime(nowMs);
        set(() => page);
      },
    },
    reload,
  );
  const isFiltered = FILTER_NAMES.some((name) => params.value.has(name));
  return (
    <main class="page" id="content">
      <h1 class="page-title">Instances</h1>
      <Filters />
      <section class="card flush" aria-busy={isLoading}>
        {value ? (
          value.rows.length === 0 ? (
            value.next !== null ? (
              <Empty icon="search" title="Nothing found so far">
                <p>The newest instances do not match. Older ones have not been searched yet.</p>
              </Empty>
            ) : isFiltered || params.value.has('after') ? (
              <Empty icon="search" title="No instance matches">
                <p>Nothing has all of these properties.</p>
                <button class="button" type="button" onClick={() => navigate(addressOf(path.value))}>
                  Clear the filters
                </button>
              </Empty>
            ) : (
              <Empty icon="flow" title="No instance yet">
                <p>
                  Start one with <code>client.startOrchestration(id, name, input)</code>; it appears here by itself.
                </p>
              </Empty>
            )
          ) : (
            <Rows page={value} />
          )
        ) : error ? (
          <Failure error={error} retry={error.status === 400 ? () => navigate(addressOf(path.value)) : reload} />
        ) : (
          <Skeleton lines={12} label="Loading instances" />
        )}
      </section>
      {value && <Pager page={value} atMs={atMs} />}
    </main>
  );
}

/** Up and down go from row to row; the first press of Tab enters the list as usual. */
function Rows({ page }: { page: InstancePageView }) {
  const place = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (step === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    const links = [...(place.current?.querySelectorAll<HTMLElement>('.row-link') ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    links[Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
    event.preventDefault();
  };
  return (
    <div ref={place} onKeyDown={onKeyDown}>
      <InstanceTable rows={page.rows} label="Instances" withParent />
    </div>
  );
}

function Pager({ page, atMs }: { page: InstancePageView; atMs: number }) {
  const after = params.value.get('after');
  return (
    <nav class="pager" aria-label="Pages">
      <span class="quiet">{page.rows.length > 0 && `${count(page.rows.length)} shown, newest first`}</span>
      <span class="grow" />
      {after !== null && (
        <>
          <button class="button" type="button" onClick={() => setParams({ after: undefined, at: undefined })}>
            Newest
          </button>
          <button class="button" type="button" onClick={() => history.back()}>
            Back
          </button>
        </>
      )}
      {page.next !== null && (
        <button
          class="button"
          type="button"
          onClick={() => setParams({ after: page.next ?? undefined, at: String(atMs) })}
        >
          {page.rows.length < PAGE ? 'Search older ones' : 'Older'} <Icon name="chevron" size={12} />
        </button>
      )}
    </nav>
  );
}

const SPANS: Readonly<Record<string, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
  '30d': 2_592_000_000,
};

/** What spans of time are counted back from. */
function momentOfPage(search: URLSearchParams): number {
  // A cursor belongs to the very moment that its page began with.
  const at = Number(search.get('at') ?? NaN);
  if (search.has('after') && Number.isSafeInteger(at)) return at;
  // Cut to the minute: a query that changes every millisecond would never be answered.
  return Math.floor(Date.now() / 60_000) * 60_000;
}

/** The query of the API for the parameters of the page. */
function queryOf(search: URLSearchParams, atMs: number): Record<string, string | number | undefined> {
  const text = (name: string) => search.get(name) ?? undefined;
  const back = (name: string) => {
    const span = SPANS[search.get(name) ?? ''];
    return span === undefined ? undefined : atMs - span;
  };
  return {
    status: text('status'),
    id: text('id'),
    name: text('name'),
    parent: text('parent'),
    roots: text('roots'),
    customStatus: text('customStatus'),
    createdAfter: momentOf(search.get('from')) ?? back('since'),
    createdBefore: momentOf(search.get('to')),
    updatedAfter: back('active'),
    after: text('after'),
    limit: PAGE,
  };
}

/** Unix ms of what a date-time field holds. */
function momentOf(text: string | null): number | undefined {
  const ms = text === null ? NaN : new Date(text).getTime();
  return Number.isNaN(ms) ? undefined : ms;
}

import { useState } from 'preact/hooks';
import type { InstancePageView, InstanceRow, InstanceView } from '../../views';
import { getJson } from '../api';
import { Icon } from '../components/icon';
import { Empty } from '../components/states';
import { StatusBadge } from '../components/status-badge';
import { Took } from '../components/time';
import { instanceAddress, Link } from '../router';

/** The instance with its parents above and its children below; deeper levels are loaded when they are opened. */
export function Family({ id, detail }: { id: string; detail: InstanceView }) {
  const { ancestors, children, row } = detail;
  if (ancestors.length === 0 && children.rows.length === 0) {
    return (
      <Empty icon="child" title="It stands alone">
        <p>Neither a parent nor a child orchestration.</p>
      </Empty>
    );
  }
  return (
    <ul class="tree">
      <Ancestors ancestors={ancestors} inner={<Self row={row} id={id} page={children} />} />
    </ul>
  );
}

function Ancestors({ ancestors, inner }: { ancestors: InstanceView['ancestors']; inner: preact.JSX.Element }) {
  const [first, ...rest] = ancestors;
  if (!first) return inner;
  return (
    <li>
      <span class="tree-row">
        <StatusBadge status={first.status} />
        <Link to={instanceAddress(first.id)} class="mono">
          {first.id}
        </Link>
        <span class="quiet">{first.name}</span>
      </span>
      <ul>
        <Ancestors ancestors={rest} inner={inner} />
      </ul>
    </li>
  );
}

function Self({ row, id, page }: { row: InstanceRow; id: string; page: InstancePageView }) {
  return (
    <li>
      <span class="tree-row self" aria-current="true">
        <StatusBadge status={row.status} />
        <span class="mono">{id}</span>
        <span class="quiet">{row.name}</span>
      </span>
      <Children parent={id} page={page} />
    </li>
  );
}

function Children({ parent, page }: { parent: string; page: InstancePageView }) {
  const [more, setMore] = useState<InstancePageView>();
  const [problem, setProblem] = useState('');
  const rows = [...page.rows, ...(more?.rows ?? [])];
  const next = more ? more.next : page.next;
  const load = async () => {
    setProblem('');
    try {
      const further = await getJson<InstancePageView>('/api/children', { id: parent, after: next ?? undefined });
      setMore({ rows: [...(more?.rows ?? []), ...further.rows], next: further.next });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  if (rows.length === 0 && next === null) return null;
  return (
    <ul>
      {rows.map((row) => (
        <Child key={row.id} row={row} />
      ))}
      {next !== null && (
        <li>
          <button type="button" class="button small" onClick={() => void load()}>
            More children
          </button>
        </li>
      )}
      {problem !== '' && <li class="form-error">{problem}</li>}
    </ul>
  );
}

function Child({ row }: { row: InstanceRow }) {
  const [page, setPage] = useState<InstancePageView>();
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState('');
  const toggle = async () => {
    setOpen(!open);
    if (open || page) return;
    try {
      setPage(await getJson<InstancePageView>('/api/children', { id: row.id }));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <li>
      <span class="tree-row">
        <button
          type="button"
          class={`icon-button turn ${open ? 'open' : ''}`}
          aria-expanded={open}
          aria-label={`Children of ${row.id}`}
          onClick={() => void toggle()}
        >
          <Icon name="chevron" size={12} />
        </button>
        <StatusBadge status={row.status} />
        <Link to={instanceAddress(row.id)} class="mono">
          {row.id}
        </Link>
        <span class="quiet">{row.name}</span>
        <span class="grow" />
        <Took fromMs={row.createdAtMs} toMs={row.completedAtMs} exact />
      </span>
      {problem !== '' && <p class="form-error">{problem}</p>}
      {open &&
        page &&
        (page.rows.length > 0 ? <Children parent={row.id} page={page} /> : <p class="note">no children</p>)}
    </li>
  );
}

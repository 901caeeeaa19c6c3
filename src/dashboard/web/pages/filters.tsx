import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../components/icon';
import { params, setParams } from '../router';

const MORE_NAMES = ['name', 'parent', 'roots', 'customStatus', 'since', 'from', 'to', 'active'] as const;
export const FILTER_NAMES = ['status', 'id', ...MORE_NAMES] as const;

const STATUSES = ['Running', 'Completed', 'Failed', 'ContinuedAsNew'] as const;
const LABELS = { Running: 'Running', Completed: 'Completed', Failed: 'Failed', ContinuedAsNew: 'Continued' } as const;
const SPANS = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last day'],
  ['7d', 'Last week'],
  ['30d', 'Last 30 days'],
] as const;
/** Typing is followed after such a pause, in ms. */
const TYPING_MS = 300;

/** Everything by which the list is narrowed down. It stands in the address, so that it can be sent to somebody. */
export function Filters() {
  const search = params.value;
  const isMore = MORE_NAMES.some((name) => search.has(name));
  const [open, setOpen] = useState(isMore);
  const set = (changes: Record<string, string | undefined>) => setParams({ ...changes, after: undefined });
  const status = search.get('status');
  return (
    <search class="filters">
      <div class="filter-row">
        <TextFilter
          name="id"
          label="Instance id begins with"
          placeholder="Find by the beginning of the id"
          icon
          isMain
        />
        <div class="chips" role="group" aria-label="Status">
          <button type="button" class="chip" aria-pressed={status === null} onClick={() => set({ status: undefined })}>
            All
          </button>
          {STATUSES.map((one) => (
            <button
              key={one}
              type="button"
              class={`chip ${one.toLowerCase()}`}
              aria-pressed={status === one}
              onClick={() => set({ status: one })}
            >
              {LABELS[one]}
            </button>
          ))}
        </div>
        <button type="button" class="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          More filters
        </button>
      </div>
      {open && (
        <div class="filter-grid">
          <TextFilter name="name" label="Orchestration" placeholder="Exact name" />
          <TextFilter name="parent" label="Parent" placeholder="Exact instance id" />
          <TextFilter name="customStatus" label="Custom status begins with" placeholder="e.g. waiting" />
          <label class="field">
            <span>Started</span>
            <select
              value={search.has('from') || search.has('to') ? 'custom' : (search.get('since') ?? '')}
              onChange={({ currentTarget: { value } }) =>
                set(
                  value === 'custom'
                    ? { since: undefined, from: dayStart() }
                    : { since: value || undefined, from: undefined, to: undefined },
                )
              }
            >
              {SPANS.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
              <option value="custom">From … to …</option>
            </select>
          </label>
          <label class="field">
            <span>Last active, or ended</span>
            <select
              value={search.get('active') ?? ''}
              onChange={({ currentTarget: { value } }) => set({ active: value || undefined })}
            >
              {SPANS.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {(search.has('from') || search.has('to')) && (
            <>
              <MomentFilter name="from" label="From" />
              <MomentFilter name="to" label="Before" />
            </>
          )}
          <label class="check">
            <input
              type="checkbox"
              checked={search.get('roots') === 'true'}
              onChange={({ currentTarget: { checked } }) =>
                set({ roots: checked ? 'true' : undefined, parent: undefined })
              }
            />
            Without children
          </label>
        </div>
      )}
    </search>
  );
}

interface TextFilterProps {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly icon?: boolean;
  readonly isMain?: boolean;
}

function TextFilter({ name, label, placeholder, icon = false, isMain = false }: TextFilterProps) {
  const given = params.value.get(name) ?? '';
  const [text, setText] = useState(given);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => setText(given), [given]);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    if (value !== (params.value.get(name) ?? '')) {
      setParams({ [name]: value || undefined, after: undefined }, { replace: true });
    }
  };
  const field = (
    <input
      type="search"
      id={isMain ? 'find' : undefined}
      value={text}
      placeholder={placeholder}
      aria-label={icon ? label : undefined}
      spellcheck={false}
      autocomplete="off"
      onInput={({ currentTarget: { value } }) => {
        setText(value);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => apply(value), TYPING_MS);
      }}
      onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
    />
  );
  if (icon) {
    return (
      <div class="find">
        <Icon name="search" />
        {field}
        {isMain && <kbd aria-hidden="true">/</kbd>}
      </div>
    );
  }
  return (
    <label class="field">
      <span>{label}</span>
      {field}
    </label>
  );
}

function MomentFilter({ name, label }: { name: string; label: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        value={params.value.get(name) ?? ''}
        onChange={({ currentTarget: { value } }) => setParams({ [name]: value || undefined, after: undefined })}
      />
    </label>
  );
}

/** The beginning of today as a date-time field writes it. */
function dayStart(): string {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, '0');
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}T00:00`;
}

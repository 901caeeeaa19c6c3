import { words } from '../format';

const KINDS: Readonly<Record<string, string>> = {
  Running: 'running',
  Completed: 'completed',
  Failed: 'failed',
  ContinuedAsNew: 'continued',
};

/** The status in colour, shape and word: no one of them alone has to be seen. */
export function StatusBadge({ status }: { status: string }) {
  return (
    <span class={`badge ${KINDS[status] ?? 'other'}`}>
      <span class="badge-mark" aria-hidden="true" />
      {words(status)}
    </span>
  );
}

import { useState } from 'preact/hooks';
import type { HistoryView, InstanceView, RetryView } from '../../views';
import { addressOf, postJson } from '../api';
import { Confirm } from '../components/dialog';
import { Icon } from '../components/icon';
import { Skeleton } from '../components/states';
import { toast } from '../components/toast';
import { useLoad } from '../load';
import { navigate } from '../router';
import { session } from '../session';

interface ActionsProps {
  readonly id: string;
  readonly detail: InstanceView;
  readonly history: HistoryView | undefined;
  readonly reload: () => void;
}
type Dialog = 'raise' | 'cancel' | 'retry' | 'delete';

/** What can be done with the instance as it stands. In read-only mode nothing, and it says so. */
export function Actions(props: ActionsProps) {
  const [dialog, setDialog] = useState<Dialog>();
  if (session.value?.access !== 'write') return <span class="chip-note">read-only</span>;
  const { status } = props.detail.row;
  const hasEnded = status === 'Completed' || status === 'Failed';
  const close = () => setDialog(undefined);
  return (
    <div class="actions">
      {!hasEnded && (
        <button type="button" class="button primary" onClick={() => setDialog('raise')}>
          <Icon name="event" /> Raise event
        </button>
      )}
      {!hasEnded && (
        <button type="button" class="button" onClick={() => setDialog('cancel')}>
          <Icon name="stop" /> Cancel
        </button>
      )}
      {status === 'Failed' && (
        <button type="button" class="button primary" onClick={() => setDialog('retry')}>
          <Icon name="retry" /> Retry
        </button>
      )}
      <button type="button" class="button danger-text" onClick={() => setDialog('delete')}>
        <Icon name="trash" /> Delete
      </button>
      {dialog === 'raise' && <RaiseDialog {...props} close={close} />}
      {dialog === 'cancel' && <CancelDialog {...props} close={close} />}
      {dialog === 'retry' && <RetryDialog {...props} close={close} />}
      {dialog === 'delete' && <DeleteDialog {...props} close={close} hasEnded={hasEnded} />}
    </div>
  );
}

type DialogProps = ActionsProps & { readonly close: () => void };

/** What the instance waits for now: the first names to offer. */
function waitsOf(history: HistoryView | undefined): { name: string; queue: boolean }[] {
  return (history?.timeline.lanes ?? [])
    .filter(({ kind, segments }) => (kind === 'event' || kind === 'queue') && segments.at(-1)?.outcome === 'open')
    .map(({ kind, label }) => ({ name: label, queue: kind === 'queue' }));
}

function RaiseDialog({ id, history, close }: DialogProps) {
  const waits = waitsOf(history);
  const [name, setName] = useState(waits[0]?.name ?? '');
  const [queue, setQueue] = useState(waits[0]?.queue ?? false);
  const [data, setData] = useState('');
  const problem = problemOfJson(data);
  const run = async () => {
    await postJson('/api/actions/raise', { id, name, data, queue });
    toast(queue ? `A message was put into '${name}'` : `Event '${name}' was raised`);
  };
  return (
    <Confirm
      title="Raise an event"
      keep="Close"
      action={queue ? 'Enqueue' : 'Raise'}
      run={run}
      close={close}
      disabled={name === '' || problem !== ''}
    >
      <fieldset class="choice">
        <legend class="visually-hidden">Kind</legend>
        <label>
          <input type="radio" name="kind" checked={!queue} onChange={() => setQueue(false)} />
          <span>
            <strong>Event</strong> for who waits now
          </span>
        </label>
        <label>
          <input type="radio" name="kind" checked={queue} onChange={() => setQueue(true)} />
          <span>
            <strong>Message</strong> that waits in a queue
          </span>
        </label>
      </fieldset>
      <label class="field">
        <span>{queue ? 'Queue' : 'Event'}</span>
        <input
          required
          value={name}
          list="waits"
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget: { value } }) => setName(value)}
        />
        <datalist id="waits">
          {waits.map((wait) => (
            <option key={wait.name} value={wait.name} />
          ))}
        </datalist>
      </label>
      {waits.length > 0 ? (
        <p class="note">It waits for {waits.map((wait) => wait.name).join(', ')}.</p>
      ) : (
        <p class="note">It does not wait for an event at the moment; one that is raised now is lost.</p>
      )}
      <label class="field">
        <span>Data, as JSON</span>
        <textarea
          class="mono"
          rows={5}
          value={data}
          placeholder="null"
          spellcheck={false}
          aria-invalid={problem !== ''}
          onInput={({ currentTarget: { value } }) => setData(value)}
        />
      </label>
      {problem !== '' && <p class="form-error">{problem}</p>}
    </Confirm>
  );
}

function problemOfJson(text: string): string {
  if (text.trim() === '') return '';
  try {
    JSON.parse(text);
    return '';
  } catch {
    return 'That is not JSON yet. A text needs its quotes: "like this".';
  }
}

function CancelDialog({ id, close }: DialogProps) {
  const [reason, setReason] = useState('');
  const run = async () => {
    await postJson('/api/actions/cancel', { id, reason });
    toast('The cancellation was requested');
  };
  return (
    <Confirm title="Cancel this instance?" action="Cancel the instance" tone="danger" run={run} close={close}>
      <p>
        <span class="mono breakable">{id}</span> ends as failed, and its children with it. Activities that run are told
        to stop. This cannot be taken back.
      </p>
      <label class="field">
        <span>Reason (kept in the history)</span>
        <input value={reason} autocomplete="off" onInput={({ currentTarget: { value } }) => setReason(value)} />
      </label>
    </Confirm>
  );
}

function RetryDialog({ id, close, reload }: DialogProps) {
  const { value, error } = useLoad<RetryView>('/api/retry', { id });
  const run = async () => {
    if (!value?.possible) return;
    await postJson('/api/actions/retry', { id, toEventId: value.toEventId });
    toast('It runs again');
    reload();
  };
  return (
    <Confirm
      title="Retry from the failed step?"
      action="Retry"
      run={run}
      close={close}
      disabled={value?.possible !== true}
    >
      {value ? (
        value.possible ? (
          <p>
            The instance goes back to event <strong>{value.toEventId}</strong> and goes on with{' '}
            <strong>{value.step}</strong>. What came after is kept in the archive.
          </p>
        ) : (
          <p class="form-error">It cannot be retried: {value.reason}</p>
        )
      ) : error ? (
        <p class="form-error" role="alert">
          {error.message}
        </p>
      ) : (
        <Skeleton lines={2} label="Looking for the failed step" />
      )}
    </Confirm>
  );
}

function DeleteDialog({ id, close, hasEnded }: DialogProps & { readonly hasEnded: boolean }) {
  const [sure, setSure] = useState(false);
  const run = async () => {
    await postJson('/api/actions/delete', { id, force: !hasEnded });
    toast('The instance was deleted');
    navigate(addressOf('/instances'));
  };
  return (
    <Confirm
      title="Delete this instance?"
      action="Delete for ever"
      tone="danger"
      run={run}
      close={close}
      disabled={!sure}
    >
      <p>
        <span class="mono breakable">{id}</span> goes with its children, its history and its values.
        {!hasEnded && <strong> It still runs.</strong>}
      </p>
      <label class="check">
        <input type="checkbox" checked={sure} onChange={({ currentTarget: { checked } }) => setSure(checked)} />
        {hasEnded ? 'Yes, delete it for ever' : 'Yes, delete it although it runs'}
      </label>
    </Confirm>
  );
}

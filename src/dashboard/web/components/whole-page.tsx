import type { ComponentChildren } from 'preact';
import type { QueuesView, SchedulesView } from '../../views';
import { addressOf } from '../api';
import { useLive } from '../live';
import { useLoad } from '../load';
import { Failure, Skeleton } from './states';

interface Views {
  readonly schedules: SchedulesView;
  readonly queues: QueuesView;
}

interface WholePageProps<Name extends keyof Views> {
  /** What it is called in addresses and messages. */
  readonly name: Name;
  readonly title: string;
  readonly show: (view: Views[Name], reload: () => void) => ComponentChildren;
}

/** A page of one list that is loaded as a whole, and replaced when it changes. */
export function WholePage<Name extends keyof Views>({ name, title, show }: WholePageProps<Name>) {
  const { value, error, isLoading, reload, set } = useLoad<Views[Name]>(`/api/${name}`, {});
  useLive(addressOf(`/api/live/${name}`), { [name]: (view: Views[Name]) => set(() => view) }, reload);
  return (
    <main class="page" id="content">
      <h1 class="page-title">{title}</h1>
      <section class="card flush" aria-busy={isLoading}>
        {value ? (
          show(value, reload)
        ) : error ? (
          <Failure error={error} retry={reload} />
        ) : (
          <Skeleton lines={6} label={`Loading ${name}`} />
        )}
      </section>
    </main>
  );
}

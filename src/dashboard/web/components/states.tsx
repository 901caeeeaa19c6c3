import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api';
import { Icon, type IconName } from './icon';

/** Nothing to show, and what to do about it. */
export function Empty({
  icon = 'empty',
  title,
  children,
}: {
  icon?: IconName;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="state">
      <span class="state-icon">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Why something cannot be shown, and a way to try again. */
export function Failure({ error, retry }: { error: ApiError; retry: () => void }) {
  const title =
    error.status === 404
      ? 'Not found'
      : error.status === 503 || error.status === 0
        ? 'No answer'
        : error.status === 400
          ? 'That does not fit'
          : 'Something went wrong';
  return (
    <div class="state" role="alert">
      <span class="state-icon bad">
        <Icon name="warning" size={22} />
      </span>
      <h2>{title}</h2>
      <p>{error.message}</p>
      <button class="button" type="button" onClick={retry}>
        <Icon name="retry" /> Try again
      </button>
    </div>
  );
}

/** Grey lines in the place of what is being loaded. */
export function Skeleton({ lines = 4, label = 'Loading' }: { lines?: number; label?: string }) {
  return (
    <div class="skeleton" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class={`bone w${(index * 7) % 4}`} />
      ))}
    </div>
  );
}

import { computed, signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { addressOf, BASE } from './api';

/** Where we are, below the mount point. */
const here = signal(new URL(location.href));

export const path = computed(() => here.value.pathname.slice(BASE.length) || '/');
export const params = computed(() => here.value.searchParams);

addEventListener('popstate', () => (here.value = new URL(location.href)));

/** Goes to a page without loading it. */
export function navigate(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  here.value = new URL(location.href);
  if (!replace) scrollTo(0, 0);
}

/** Changes parameters of the page; `undefined` removes one. */
export function setParams(
  changes: Readonly<Record<string, string | undefined>>,
  options?: { replace?: boolean },
): void {
  const query = Object.fromEntries(params.value);
  navigate(addressOf(path.value, { ...query, ...changes }), options);
}

export function instanceAddress(id: string): string {
  return addressOf('/instance', { id });
}

type AnchorProps = Omit<JSX.IntrinsicElements['a'], 'href'> & { to: string; children?: ComponentChildren };

/** A link within the dashboard; new tabs and the like work as with any link. */
export function Link({ to, children, ...rest }: AnchorProps) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={to} onClick={follow}>
      {children}
    </a>
  );
}

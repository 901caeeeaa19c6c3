import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { LiveMessages } from '../views';
import { heardTime } from './clock';

/** How the open page hears of changes. */
export type Connection = 'off' | 'connecting' | 'live' | 'lost' | 'trouble';
export const connection = signal<Connection>('off');
/** Why, while it is `trouble`. */
export const troubleText = signal('');

/** After a refusal the stream is tried again, in ms. */
const REOPEN_MS = 10_000;

const NAMES = [
  'overview',
  'list',
  'schedules',
  'queues',
  'history',
  'instance',
  'gone',
  'trouble',
  'recovered',
] as const;
type Handlers = { readonly [K in keyof LiveMessages]?: (data: LiveMessages[K]) => void };

/**
 * Listens to a stream while the page is visible; a hidden one costs nothing. `onReopen` is
 * called when it comes back, since what happened meanwhile was not heard.
 */
export function useLive(address: string | null, handlers: Handlers, onReopen: () => void): void {
  const latest = useRef({ handlers, onReopen });
  latest.current = { handlers, onReopen };
  useEffect(() => {
    if (address === null) return;
    let source: EventSource | undefined;
    let wasOpen = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      connection.value = 'connecting';
      source = new EventSource(address);
      source.onopen = () => {
        connection.value = 'live';
        if (wasOpen) latest.current.onReopen();
        wasOpen = true;
      };
      source.onerror = () => {
        connection.value = 'lost';
        // The browser comes back by itself unless it was refused.
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(reopen, REOPEN_MS);
      };
      for (const name of NAMES) source.addEventListener(name, (event) => hear(name, event.data as string));
    };
    const hear = (name: keyof LiveMessages, text: string) => {
      const data = JSON.parse(text) as { nowMs?: number; message?: string };
      if (data.nowMs !== undefined) heardTime(data.nowMs);
      if (name === 'trouble') {
        connection.value = 'trouble';
        troubleText.value = data.message ?? '';
      } else if (connection.value === 'trouble') connection.value = 'live';
      if (name === 'recovered') latest.current.onReopen();
      (latest.current.handlers[name] as ((data: unknown) => void) | undefined)?.(data);
    };
    const reopen = () => {
      source?.close();
      open();
    };
    const close = () => {
      clearTimeout(timer);
      source?.close();
      source = undefined;
      connection.value = 'off';
    };
    const onVisibility = () => {
      if (document.hidden) close();
      else if (!source) open();
    };
    document.addEventListener('visibilitychange', onVisibility);
    if (!document.hidden) open();
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      close();
    };
  }, [address]);
}

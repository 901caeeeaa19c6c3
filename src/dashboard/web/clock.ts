import { signal } from '@preact/signals';

/** The store's clock minus the browser's, in ms. */
let offsetMs = 0;

/** The store's time, moving on every second. */
export const now = signal(Date.now());

export function heardTime(nowMs: number): void {
  offsetMs = nowMs - Date.now();
  now.value = nowMs;
}

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + offsetMs;
}, 1_000);

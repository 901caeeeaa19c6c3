import { signal } from '@preact/signals';
import { Icon } from './icon';

const SHOWN_MS = 5_000;
const message = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says that something was done. */
export function toast(text: string): void {
  message.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (message.value = ''), SHOWN_MS);
}

export function Toast() {
  return (
    <div class="toast-place" role="status" aria-live="polite">
      {message.value !== '' && (
        <p class="toast">
          <Icon name="check" /> {message.value}
        </p>
      )}
    </div>
  );
}

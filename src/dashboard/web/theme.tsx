import { signal } from '@preact/signals';
import { Icon } from './components/icon';

type Theme = 'auto' | 'light' | 'dark';
const ORDER: readonly Theme[] = ['auto', 'light', 'dark'];
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const;
const stored = localStorage.getItem('ddz-theme');

/** What the viewer chose; what is drawn on a canvas is drawn anew when it changes. */
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'auto');

/** Counts how often the system's own theme changed. */
export const systemTheme = signal(0);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (systemTheme.value += 1));

export function ThemeButton() {
  const chosen = theme.value;
  const change = () => {
    const next = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length] ?? 'auto';
    if (next === 'auto') {
      localStorage.removeItem('ddz-theme');
      delete document.documentElement.dataset['theme'];
    } else {
      localStorage.setItem('ddz-theme', next);
      document.documentElement.dataset['theme'] = next;
    }
    theme.value = next;
  };
  const label = `Theme: ${chosen === 'auto' ? 'as the system' : chosen}`;
  return (
    <button type="button" class="icon-button" onClick={change} title={label} aria-label={label}>
      <Icon name={ICONS[chosen]} />
    </button>
  );
}

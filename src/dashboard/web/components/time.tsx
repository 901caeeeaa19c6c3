import { now } from '../clock';
import { coarse, duration, moment, relative } from '../format';

/** How long ago, moving on by itself; the exact moment on hover. */
export function Ago({ atMs }: { atMs: number }) {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={moment(atMs)}>
      {relative(atMs, now.value)}
    </time>
  );
}

/** From one moment to another, or until now. */
export function Took({ fromMs, toMs, exact = false }: { fromMs: number; toMs: number | null; exact?: boolean }) {
  const ms = (toMs ?? Math.max(now.value, fromMs)) - fromMs;
  return <span class="number">{exact && toMs !== null ? duration(ms) : coarse(ms)}</span>;
}

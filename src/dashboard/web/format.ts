const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(value: number): string {
  return Math.abs(value) >= 100_000 ? compact.format(value) : whole.format(value);
}

/** Two units at most: `3 ms`, `1.25 s`, `4 m 10 s`, `2 d 3 h`. */
export function duration(ms: number): string {
  const value = Math.max(0, ms);
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND) return `${(value / SECOND).toFixed(2)} s`;
  if (value < MINUTE) return `${(value / SECOND).toFixed(1)} s`;
  if (value < HOUR) return pair(value, MINUTE, 'm', SECOND, 's');
  if (value < DAY) return pair(value, HOUR, 'h', MINUTE, 'm');
  return pair(value, DAY, 'd', HOUR, 'h');
}

function pair(value: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((value % big) / small);
  const first = `${Math.floor(value / big)} ${bigName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** One unit: `just now`, `12 s ago`, `3 h ago`, `in 5 m`. */
export function relative(atMs: number, nowMs: number): string {
  const ms = Math.abs(nowMs - atMs);
  if (ms < 2 * SECOND) return 'just now';
  const text = coarse(ms);
  return atMs <= nowMs ? `${text} ago` : `in ${text}`;
}

/** One unit, cut. */
export function coarse(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

const moments = new Intl.DateTimeFormat('en-CA', {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hour12: false,
});

/** Local date and time with milliseconds. */
export function moment(atMs: number): string {
  return moments.format(atMs).replace(',', '');
}

export function size(characters: number): string {
  if (characters < 1_000) return `${characters} characters`;
  return characters < 1_000_000
    ? `${(characters / 1_000).toFixed(1)} k characters`
    : `${(characters / 1_000_000).toFixed(1)} M characters`;
}

/** JSON with line breaks; `undefined` for a text that is none. */
export function prettyJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined; // a payload of another SDK, or the text of an error
  }
}

/** `ActivityScheduled` → `Activity scheduled`. */
export function words(kind: string): string {
  const spaced = kind.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

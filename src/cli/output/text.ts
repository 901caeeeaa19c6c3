import { showStored } from '../../wire/encoded-payload.js';

/**
 * Text of users made harmless for a terminal: control characters, which could move the
 * cursor, hide what follows or change the window's title, are shown as what they are.
 */
export function withoutControls(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (letter) => {
    const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[letter];
    return named ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A stored payload on one line; of one that only a codec can read, by which it was encoded. */
export function payloadText(stored: string, length: number): string {
  return shortened(withoutControls(showStored(stored)), length);
}

/** At most so many characters, with a mark where it was cut. */
export function shortened(text: string, length: number): string {
  const letters = [...text];
  return letters.length <= length ? text : `${letters.slice(0, Math.max(0, length - 1)).join('')}…`;
}

/** A moment in UTC, to the millisecond where that says something. */
export function momentText(ms: number): string {
  if (!Number.isFinite(ms)) return '-';
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace('T', ' ').replace('.000Z', 'Z');
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** A duration in the two largest units that it has, rounded: a week less 2 ms is 7 d. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const shown = roundedTo(stepOf(ms), ms);
  const at = unitOf(shown);
  const [unit, size] = UNITS[at] ?? UNITS[3];
  const next = UNITS[at + 1];
  if (next === undefined) return `${shown / size} ${unit}`;
  const rest = Math.floor((shown % size) / next[1]);
  return `${Math.floor(shown / size)} ${unit}${rest > 0 ? ` ${rest} ${next[0]}` : ''}`;
}

function unitOf(ms: number): number {
  return UNITS.findIndex(([, size]) => ms >= size);
}

/** The smallest part of a duration that is shown, in ms. */
function stepOf(ms: number): number {
  return UNITS[unitOf(ms) + 1]?.[1] ?? 100;
}

function roundedTo(step: number, ms: number): number {
  return Math.round(ms / step) * step;
}

/** Numbers with separators of thousands. */
export function countText(count: number, isEstimate = false): string {
  return `${isEstimate ? '~' : ''}${count.toLocaleString('en-US')}`;
}

/** A payload for people: JSON indented, anything else as it is. */
export function prettyPayload(stored: string): string {
  const text = showStored(stored);
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Payloads are opaque: those of others need not be JSON.
    return text;
  }
}

/** An id for a command line: quoted where a shell would take it apart, and so that no terminal obeys it. */
export function shellQuoted(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (withoutControls(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`;
  // Bash, zsh and ksh read these escapes.
  return `$'${withoutControls(text.replace(/[\\']/g, '\\$&'))}'`;
}

/** `1 instance`, `2 instances`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

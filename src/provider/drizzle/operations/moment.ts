import type { Ms } from '../../provider.js';

/** The last moment that a `Date` can hold; PostgreSQL's timestamps reach further. */
const LAST_DATE_MS = 8_640_000_000_000_000;

/** `visible_at` of what is set aside as unreadable: never due, and easy to list (provider.md 3.1.2). */
export const SET_ASIDE_UNTIL = '9999-12-31T00:00:00.000Z';

/** A moment as text for a `timestamptz`, exact to the millisecond. Beyond the year 275760 it is cut (C-08). */
export function moment(ms: Ms): string {
  const text = new Date(Math.min(ms, LAST_DATE_MS)).toISOString();
  // ISO 8601 wants a sign and six digits for years of more than four; PostgreSQL takes `+` for a zone.
  return text.startsWith('+') ? text.slice(1) : text;
}

import type { PayloadView } from '../views.js';

/** Characters of a payload that travel with a list; the whole is downloaded. */
export const PREVIEW_CHARACTERS = 2_000;

/** The beginning of a text, never half a character. */
export function payloadView(field: string, text: string): PayloadView {
  if (text.length <= PREVIEW_CHARACTERS) return { field, text, length: text.length, cut: false };
  return { field, text: text.slice(0, PREVIEW_CHARACTERS).toWellFormed(), length: text.length, cut: true };
}

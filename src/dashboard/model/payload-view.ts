import { showStored } from '../../wire/encoded-payload.js';
import type { PayloadView } from '../views.js';

/** Characters of a payload that travel with a list; the whole is downloaded. */
export const PREVIEW_CHARACTERS = 2_000;

/** The beginning of a text, never half a character; of one that only a codec can read, by which it was encoded. */
export function payloadView(field: string, stored: string): PayloadView {
  const text = showStored(stored);
  if (text.length <= PREVIEW_CHARACTERS) return { field, text, length: text.length, cut: false };
  return { field, text: text.slice(0, PREVIEW_CHARACTERS).toWellFormed(), length: text.length, cut: true };
}

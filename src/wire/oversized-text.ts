import { utf8Length } from '../base/text.js';

/** So much of a text is encoded at a time, in UTF-16 units. */
const PIECE = 64 * 1024;

/**
 * Bytes of the JSON text of a string that is certainly too long for a payload; `undefined`
 * for every other value. Counted piece by piece: the whole JSON text of what is about to be
 * refused, and a flat copy of that, are what a small heap has no room for (C-24).
 */
export function bytesOfOversized(value: unknown, maxBytes: number): number | undefined {
  // A UTF-16 unit is at least one byte.
  if (typeof value !== 'string' || value.length + 2 <= maxBytes) return undefined;
  let bytes = 2;
  for (let from = 0; from < value.length;) {
    const to = endOfPiece(value, from + PIECE);
    bytes += utf8Length(JSON.stringify(value.slice(from, to))) - 2;
    from = to;
  }
  return bytes;
}

/** Both halves of a surrogate pair are in one piece: apart they would be escaped. */
function endOfPiece(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}

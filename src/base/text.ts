/** Length of `text` in UTF-8 bytes, the unit of every size limit. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Whether PostgreSQL can store the text unchanged: no U+0000 and no unpaired surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/**
 * Replaces U+0000 and unpaired surrogates by U+FFFD (P:T-3). Applied to string
 * *values* before the outer `JSON.stringify`, never to finished JSON text: a user's
 * payload is JSON inside a string, so its own NUL is already an escape and survives.
 */
export function toStorable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

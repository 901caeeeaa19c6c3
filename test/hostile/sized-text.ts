import { utf8Length } from '../../src/base/text.js';

/** A text of exactly so many bytes of UTF-8, with fewer characters than bytes: limits count bytes. */
export function sized(bytes: number, end = ''): string {
  const room = bytes - utf8Length(end);
  return 'é'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2) + end;
}

/** A value whose JSON text has so many bytes. */
export function sizedPayload(bytes: number): string {
  return sized(bytes - 2);
}

/** One below a limit, at it, and one above. */
export function around(
  limit: number,
): readonly { readonly bytes: number; readonly fits: boolean; readonly where: string }[] {
  return [
    { bytes: limit - 1, fits: true, where: 'one below' },
    { bytes: limit, fits: true, where: 'at the limit' },
    { bytes: limit + 1, fits: false, where: 'one above' },
  ];
}

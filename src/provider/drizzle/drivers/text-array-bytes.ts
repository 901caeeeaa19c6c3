import { scalarText } from './parameter-text.js';

/** `text` in the catalogue of every server. */
const TEXT_OID = 25;
const HEADER_BYTES = 20;

/**
 * A one-dimensional `text[]` in the binary form of parameters: counts and bytes. In text form
 * the quotes of every payload are escaped here and unescaped by the server, which for JSON is
 * most of the work of binding: 2.7 µs an element of 130 bytes instead of 0.3.
 */
export function textArrayBytes(values: readonly (string | number | boolean | null)[]): Buffer {
  if (values.length === 0) return emptyArray();
  const texts = values.map((value) => (value === null || typeof value === 'string' ? value : scalarText(value)));
  let size = HEADER_BYTES;
  for (const text of texts) size += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeInt32BE(1, 0); // dimensions
  bytes.writeInt32BE(texts.includes(null) ? 1 : 0, 4);
  bytes.writeInt32BE(TEXT_OID, 8);
  bytes.writeInt32BE(texts.length, 12);
  bytes.writeInt32BE(1, 16); // the first index
  let at = HEADER_BYTES;
  for (const text of texts) {
    const written = text === null ? -1 : bytes.write(text, at + 4);
    bytes.writeInt32BE(written, at);
    at += 4 + Math.max(0, written);
  }
  return bytes;
}

function emptyArray(): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeInt32BE(TEXT_OID, 8);
  return bytes;
}

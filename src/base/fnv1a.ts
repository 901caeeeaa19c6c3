const OFFSET_BASIS = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;

/** 64-bit FNV-1a over the UTF-8 bytes of `text`, unsigned. */
export function fnv1a64(text: string): bigint {
  let hash = OFFSET_BASIS;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  }
  return hash;
}

/** The hash as 16 lower-case hex digits. */
export function fnv1a64Hex(text: string): string {
  return fnv1a64(text).toString(16).padStart(16, '0');
}

/** 32-bit FNV-1a over the UTF-16 code units of `text`, unsigned: quick, for what may be mistaken now and then. */
export function fnv1a32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

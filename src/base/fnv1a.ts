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

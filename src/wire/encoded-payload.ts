/**
 * How a payload that went through a codec is stored: a JSON object that names the codec,
 * so that tools without it can tell such a value from a user's and say what it is.
 */
export interface EncodedPayload {
  readonly codec: string;
  readonly data: string;
  /** Whom the codec was told that the value belongs to; absent: the instance in whose rows it stands. */
  readonly context?: string | undefined;
}

const PREFIX = '{"ddz:codec":';

/** The stored text of encoded data. */
export function encodedPayloadText({ codec, data, context }: EncodedPayload): string {
  const suffix = context === undefined ? '' : `,"context":${JSON.stringify(context)}`;
  return `${PREFIX}${JSON.stringify(codec)},"data":${JSON.stringify(data)}${suffix}}`;
}

/** What a stored text holds if it was encoded; `undefined` for a payload as it is. */
export function readEncodedPayload(text: string): EncodedPayload | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    const { 'ddz:codec': codec, data, context } = JSON.parse(text) as Record<string, unknown>;
    if (typeof codec !== 'string' || typeof data !== 'string') return undefined;
    return { codec, data, ...(typeof context === 'string' && { context }) };
  } catch {
    return undefined;
  }
}

/**
 * A stored text as tools without its codec show it: `<encoded by aes-gcm>` for one that was
 * encoded, also when only its beginning is at hand; every other text as it is.
 */
export function showStored(text: string): string {
  const codec = text.startsWith(PREFIX) ? /^"((?:[^"\\]|\\.)*)"/.exec(text.slice(PREFIX.length))?.[1] : undefined;
  return codec === undefined ? text : `<encoded by ${codec}>`;
}

import { embedded, passesUnchanged, throughNative } from './native-json.js';

/**
 * The JSON text that stands for a payload; an omitted one is `null` (node-api.md 2).
 * Functions and symbols have none, in spite of the type: the absence is reported where
 * the text is used.
 */
export function toPayload(value: unknown): string {
  return JSON.stringify(value === undefined ? null : value);
}

/** A stored payload as a value; text of other SDKs that is not JSON stays text. */
export function fromPayload(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The message of the error that is thrown for a failure text: JSON is printed once more, a JSON string loses its quotes. */
export function failureMessage(text: string): string {
  const value = fromPayload(text);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The second decoding of the typed variants: a string that holds JSON becomes what it holds. */
export function decodeTwice(value: unknown): unknown {
  return typeof value === 'string' ? fromPayload(value) : value;
}

/** One element of a join, changed as native changes it: the text passes its JSON library twice. */
export function joinElement(outcome: { readonly ok: boolean; readonly text: string }): unknown {
  const key = outcome.ok ? 'ok' : 'err';
  if (passesUnchanged(outcome.text)) return { [key]: JSON.parse(outcome.text) as unknown };
  const wrapped = `{"${key}":${embedded(outcome.text)}}`;
  const again = throughNative(wrapped);
  return again === undefined ? wrapped : (JSON.parse(again) as unknown);
}

/** The value of a race, changed as native changes it: the text passes its JSON library once. */
export function raceValue(text: string): unknown {
  return JSON.parse(embedded(text)) as unknown;
}

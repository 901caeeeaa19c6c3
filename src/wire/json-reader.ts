import { WireError } from './wire-error.js';

/** A JSON object whose fields are not known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Parses JSON text.
 * @throws WireError with the position but without the text that did not parse.
 */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    throw new WireError(`${what} is not JSON${position === undefined ? '' : ` (position ${position})`}`);
  }
}

export function asObject(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new WireError(`${what} must be an object`);
  }
  return value as JsonObject;
}

export function readString(object: JsonObject, field: string, what: string): string {
  const value = object[field];
  if (typeof value !== 'string') throw missing(value, field, 'a string', what);
  return value;
}

/** Absent or null → `null`. */
export function readOptionalString(object: JsonObject, field: string, what: string): string | null {
  const value = object[field];
  return value === undefined || value === null ? null : readString(object, field, what);
}

/** An unsigned integer that a double holds exactly. */
export function readInteger(object: JsonObject, field: string, what: string): number {
  const value = object[field];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw missing(value, field, 'an unsigned integer', what);
  }
  return value;
}

/** Absent or null → `null`. */
export function readOptionalInteger(object: JsonObject, field: string, what: string): number | null {
  const value = object[field];
  return value === undefined || value === null ? null : readInteger(object, field, what);
}

export function readBoolean(object: JsonObject, field: string, what: string): boolean {
  const value = object[field];
  if (typeof value !== 'boolean') throw missing(value, field, 'a boolean', what);
  return value;
}

/** Two-element arrays `[name, data]`; absent or null → `undefined`. */
export function readPairs(object: JsonObject, field: string, what: string): [string, string][] | undefined {
  const value = object[field];
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw missing(value, field, 'an array of pairs', what);
  return value.map((pair: unknown) => {
    if (!Array.isArray(pair) || pair.length !== 2 || pair.some((part) => typeof part !== 'string')) {
      throw missing(pair, field, 'pairs of strings', what);
    }
    return [pair[0] as string, pair[1] as string];
  });
}

/** The only key of an externally tagged object and what stands under it. */
export function readTagged(value: unknown, what: string): { tag: string; body: JsonObject } {
  const object = asObject(value, what);
  const [tag, ...others] = Object.keys(object);
  if (tag === undefined || others.length > 0) throw new WireError(`${what} must have exactly one key, its kind`);
  return { tag, body: asObject(object[tag], `${what} ${tag}`) };
}

/** `{ [field]: value }`, or nothing where the value is absent: optional fields stay off the object. */
export function present<K extends string, V>(field: K, value: V | null | undefined): { [P in K]?: V } {
  return value === null || value === undefined ? {} : ({ [field]: value } as { [P in K]: V });
}

function missing(value: unknown, field: string, expected: string, what: string): WireError {
  const found = value === undefined ? 'is missing' : 'has another type';
  return new WireError(`${what}: field '${field}' ${found}, expected ${expected}`);
}

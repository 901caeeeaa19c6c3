import type { SqlValue } from '../executor.js';

/**
 * The text form of a parameter. Every driver hands it over unchanged, so that no
 * serializer of a driver or of the application has a say in what is stored.
 */
export function parameterText(value: SqlValue): string | null {
  if (value === null) return null;
  if (typeof value === 'string') return value;
  return isList(value) ? arrayText(value) : scalarText(value);
}

export function isList(value: SqlValue): value is readonly (string | number | boolean | null)[] {
  return Array.isArray(value);
}

export function scalarText(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 't' : 'f';
  return String(value);
}

function arrayText(values: readonly (string | number | boolean | null)[]): string {
  let text = '{';
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (index > 0) text += ',';
    if (value === null || value === undefined) text += 'NULL';
    else if (typeof value === 'string') text += `"${escapeElement(value)}"`;
    else text += scalarText(value);
  }
  return `${text}}`;
}

/** Quoted elements know two special characters. The test spares most payloads a copy. */
function escapeElement(text: string): string {
  return /["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text;
}

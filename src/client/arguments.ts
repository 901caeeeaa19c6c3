import { utf8Length } from '../base/text.js';
import { problemOfInstanceId, problemOfName, problemOfRootId } from '../wire/identifiers.js';
import { bytesOfOversized } from '../wire/oversized-text.js';
import { encodePayload } from '../wire/payload.js';
import { ArgumentError, InvalidInputError } from './errors.js';
import { typeName } from '../base/type-name.js';

/** @throws ArgumentError */
export function stringArgument(what: string, value: unknown): string {
  if (typeof value !== 'string')
    throw new ArgumentError('StringExpected', `${what} must be a string, got ${typeName(value)}`);
  return value;
}

/** @throws ArgumentError */
export function booleanArgument(what: string, value: unknown): boolean {
  if (typeof value !== 'boolean') {
    throw new ArgumentError('BooleanExpected', `${what} must be true or false, got ${typeName(value)}`);
  }
  return value;
}

/** A whole number; fractions are cut off as native does. @throws ArgumentError, InvalidInputError */
export function integerArgument(what: string, value: unknown): number {
  if (typeof value !== 'number')
    throw new ArgumentError('NumberExpected', `${what} must be a number, got ${typeName(value)}`);
  if (!Number.isFinite(value)) throw new InvalidInputError(`${what} must be a finite number, got ${value}`);
  return Math.trunc(value);
}

/** How long a drop-in method waits, in ms; negative means for ever, as in native. @throws ArgumentError, InvalidInputError */
export function nativeTimeoutArgument(what: string, value: unknown): number {
  const ms = integerArgument(what, value);
  return ms < 0 ? Infinity : ms;
}

/**
 * How long to wait, in ms. A deadline that has passed (`deadline - Date.now()`) leaves a negative
 * rest: nothing. @throws ArgumentError, InvalidInputError
 */
export function timeoutArgument(what: string, value: unknown): number {
  return Math.max(0, integerArgument(what, value));
}

/** The id of an instance to be started. @throws ArgumentError, InvalidInputError */
export function newInstanceId(value: unknown): string {
  return refusing(stringArgument('instanceId', value), problemOfRootId);
}

/** The id of any instance, a child included. @throws ArgumentError, InvalidInputError */
export function instanceId(value: unknown): string {
  return refusing(stringArgument('instanceId', value), problemOfInstanceId);
}

/** The name of an orchestration, event or queue. @throws ArgumentError, InvalidInputError */
export function nameArgument(what: string, value: unknown): string {
  return refusing(stringArgument(what, value), (name) => problemOfName(what, name));
}

/** The payload of a value for an instance, within the limit. @throws TypeError, InvalidInputError */
export function payloadArgument(what: string, value: unknown, maxBytes: number, instance?: string): string {
  const whose = instance === undefined ? what : `${what} for instance '${instance}'`;
  const oversized = bytesOfOversized(value, maxBytes);
  if (oversized !== undefined) throw tooLarge(what, oversized, maxBytes);
  return textArgument(what, encodePayload(value, whose), maxBytes);
}

/** A text that is stored, within the limit. @throws InvalidInputError */
export function textArgument(what: string, text: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes: most texts need no counting.
  if (text.length * 3 <= maxBytes) return text;
  const bytes = utf8Length(text);
  if (bytes > maxBytes) throw tooLarge(what, bytes, maxBytes);
  return text;
}

function tooLarge(what: string, bytes: number, maxBytes: number): InvalidInputError {
  return new InvalidInputError(`${what} (${bytes} bytes) exceeds limit (${maxBytes} bytes)`);
}

function refusing(text: string, problemOf: (text: string) => string | undefined): string {
  const problem = problemOf(text);
  if (problem !== undefined) throw new InvalidInputError(problem);
  return text;
}

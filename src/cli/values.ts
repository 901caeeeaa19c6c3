import { readFileSync } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import { CliError, ExitCode } from './exit-codes.js';
import type { CliIo } from './io.js';

/** Parsers of option values: each names what was expected; commander names the option and what was given. */

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Expected a whole number ${range}.`);
  };
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** As far as a `Date` goes from 1970. */
const LONGEST_MS = 8_640_000_000_000_000;
/** The first moment that JavaScript and PostgreSQL write alike. */
const FIRST_MOMENT = '0001-01-01';

/** `90s`, `5m`, `2h`, `7d`, `1w`, in ms. */
export function duration(text: string): number {
  const [, amount, unit = ''] = /^(\d+)(s|m|h|d|w)$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('Expected a duration such as 90s, 5m, 2h, 7d or 1w.');
  const ms = Number(amount) * (UNITS_MS[unit] ?? 0);
  if (ms > LONGEST_MS) throw new InvalidArgumentError(`Expected a duration of at most ${LONGEST_MS / 86_400_000}d.`);
  return ms;
}

/** A date or moment in ISO form, or how long ago; in Unix ms. */
export function pastMoment(text: string): number {
  const ms = /^\d+[smhdw]$/.test(text) ? Date.now() - duration(text) : isoMoment(text);
  if (ms < Date.parse(FIRST_MOMENT)) throw new InvalidArgumentError(`Expected a moment from ${FIRST_MOMENT} on.`);
  return ms;
}

function isoMoment(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError(
      'Expected a moment such as 2030-05-01, 2030-05-01T12:00:00Z, or an age such as 2h or 7d.',
    );
  }
  return ms;
}

export const STATUSES = ['Running', 'Completed', 'Failed', 'ContinuedAsNew'] as const;

/** A status in any spelling of its letters. */
export function statusName(text: string): string {
  const found = STATUSES.find((status) => status.toLowerCase() === text.toLowerCase());
  if (found === undefined) throw new InvalidArgumentError(`Expected one of ${STATUSES.join(', ')}.`);
  return found;
}

/** Payloads are JSON. `-` reads them from stdin, `@FILE` from a file. @throws CliError naming what was expected */
export async function payload(what: string, given: string | undefined, io: CliIo): Promise<unknown> {
  if (given === undefined) return undefined;
  const text = given === '-' ? await allOf(io.stdin) : given.startsWith('@') ? fileText(given.slice(1), io) : given;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CliError(
      ExitCode.usage,
      `${what} is not JSON; expected a JSON value such as 42, '"text"' or '{"key": "value"}'`,
      'a text needs quotes of its own inside those of the shell; @FILE reads a file, - reads stdin',
    );
  }
}

/** The text of a file. @throws CliError when it cannot be read */
export function fileText(name: string, { cwd }: CliIo): string {
  try {
    return readFileSync(path.resolve(cwd, name), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(ExitCode.notFound, `cannot read ${name} (${code ?? 'unknown error'}); expected a readable file`);
  }
}

async function allOf(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString('utf8');
}

/** The name of an orchestration. @throws CliError when it is empty */
export function requireOrchestration(name: string): void {
  if (name === '') {
    throw new CliError(ExitCode.usage, "the orchestration is ''; expected the name of an orchestration");
  }
}

/** `--key` and `--priority` are about a queue. @throws CliError */
export function requireQueueOption({ queue, key, priority }: QueueOptions): void {
  if (queue !== undefined || (key ?? priority) === undefined) return;
  const given = key === undefined ? 'priority' : 'key';
  throw new CliError(ExitCode.usage, `--${given} was given without --queue; expected both`);
}

interface QueueOptions {
  readonly queue?: string;
  readonly key?: string;
  readonly priority?: number;
}

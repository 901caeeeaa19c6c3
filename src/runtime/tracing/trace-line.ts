import type { TraceLevel, TraceRecord } from './trace-record.js';

const COLOURS: Record<TraceLevel, number> = { trace: 35, debug: 34, info: 32, warn: 33, error: 31 };

/** One line of text, as native's subscriber writes it; `colours` for terminals only. */
export function textLine({ level, target, message, fields }: TraceRecord, at: Date, colours: boolean): string {
  const label = level.toUpperCase().padStart(5);
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${value}`);
  return [
    paint(timestamp(at), 2, colours),
    paint(label, COLOURS[level], colours),
    `${paint(target, 2, colours)}${paint(':', 2, colours)}`,
    message,
    ...shown,
  ].join(' ');
}

/** One line of JSON; all fields are strings. */
export function jsonLine({ level, target, message, fields }: TraceRecord, at: Date): string {
  return JSON.stringify({
    timestamp: timestamp(at),
    level: level.toUpperCase(),
    fields: { message, ...fields },
    target,
  });
}

/** ISO with microseconds; the clock has milliseconds. */
function timestamp(at: Date): string {
  return at.toISOString().replace('Z', '000Z');
}

function paint(text: string, code: number, colours: boolean): string {
  return colours ? `\u001b[${code}m${text}\u001b[0m` : text;
}

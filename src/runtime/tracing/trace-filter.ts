import type { TraceLevel, TraceTarget } from './trace-record.js';
import { TRACE_LEVELS } from './trace-record.js';

/** Decides what is written. */
export type TraceFilter = (level: TraceLevel, target: TraceTarget) => boolean;

const OFF = TRACE_LEVELS.length;

/**
 * What the level of a runtime lets through, or, where it is set, the environment variable
 * `RUST_LOG`: a list of levels and `target=level`, the longest matching target winning.
 */
export function traceFilter(logLevel: string, rustLog = process.env['RUST_LOG']): TraceFilter {
  if (rustLog === undefined || rustLog.trim() === '') {
    const least = threshold(logLevel) ?? threshold('info') ?? 0;
    return (level) => TRACE_LEVELS.indexOf(level) >= least;
  }
  const directives = rustLog
    .split(',')
    .map(directive)
    .sort((a, b) => b.target.length - a.target.length);
  return (level, target) => {
    const matching = directives.find(
      (each) => target === each.target || each.target === '' || target.startsWith(`${each.target}::`),
    );
    return TRACE_LEVELS.indexOf(level) >= (matching?.least ?? threshold('error') ?? OFF);
  };
}

function directive(text: string): { target: string; least: number } {
  const [left = '', right] = text.trim().split('=');
  if (right !== undefined) return { target: left, least: threshold(right) ?? 0 };
  const level = threshold(left);
  // A word that is no level names a target, all of whose levels pass.
  return level === undefined ? { target: left, least: 0 } : { target: '', least: level };
}

/** Whether a word is a level, or `off`. */
export function isLogLevel(word: string): boolean {
  return threshold(word) !== undefined;
}

function threshold(word: string): number | undefined {
  const lower = word.trim().toLowerCase();
  if (lower === 'off') return OFF;
  const index = TRACE_LEVELS.indexOf(lower as TraceLevel);
  return index < 0 ? undefined : index;
}

import { openSync, writeSync } from 'node:fs';
import { errorText } from '../../base/error-text.js';
import { ArgumentError } from '../../client/errors.js';
import { traceFilter } from './trace-filter.js';
import { jsonLine, textLine } from './trace-line.js';
import type { WriteTrace } from './trace-record.js';

/** Where the traces of all runtimes of the process go. */
export interface TracingOptions {
  /** Appended to; created if missing. */
  logFile: string;
  /** @defaultValue `'info'` */
  logLevel?: string;
  /** `json`, or text for any other value. @defaultValue `'compact'` */
  logFormat?: string;
}

/**
 * Tracing belongs to the process and not to a runtime: that is the meaning of
 * `initTracing`, and the one thing that two runtimes of a process share. It also has to
 * hold across two copies of the package, hence the global symbol.
 */
const TRACING = Symbol.for('duroxide-drizzle.tracing');

interface ProcessTracing {
  /** Set by `initTracing`; absent when runtimes write to stdout by themselves. */
  readonly write?: WriteTrace;
}

/**
 * Sends all traces of the process into a file. The first writer wins: call it before the
 * first `start()` of the process.
 * @throws ArgumentError without a file; Error when it cannot be opened or tracing is installed already
 */
export function initTracing(options: TracingOptions): void {
  const { logFile, logLevel = 'info', logFormat = 'compact' } = (options ?? {}) as Partial<TracingOptions>;
  if (typeof logFile !== 'string') throw new ArgumentError('InvalidArg', 'Missing field `logFile`');
  const descriptor = openLog(logFile);
  if (installed()) {
    throw failure('Failed to init tracing: a global default trace dispatcher has already been set');
  }
  const write = traceWriter({
    logLevel,
    logFormat,
    colours: false,
    writeLine: (line) => void writeSync(descriptor, line),
  });
  install({ write });
}

/** The traces of one runtime: the process's file if there is one, else lines on stdout. */
export function runtimeTracing(options: { readonly logLevel: string; readonly logFormat: string }): WriteTrace {
  const tracing = installed() ?? install({});
  return (
    tracing.write ??
    traceWriter({
      ...options,
      colours: process.stdout.isTTY,
      writeLine: (line) => void process.stdout.write(line),
    })
  );
}

function traceWriter(options: {
  readonly logLevel: string;
  readonly logFormat: string;
  readonly colours: boolean;
  readonly writeLine: (line: string) => void;
}): WriteTrace {
  const passes = traceFilter(options.logLevel);
  return (record) => {
    if (!passes(record.level, record.target)) return;
    const at = new Date();
    const line = options.logFormat === 'json' ? jsonLine(record, at) : textLine(record, at, options.colours);
    try {
      options.writeLine(`${line}\n`);
    } catch {
      // A full disk or a closed pipe must not fail the user's code.
    }
  };
}

function openLog(path: string): number {
  try {
    return openSync(path, 'a');
  } catch (error) {
    throw failure(`Failed to open log file '${path}': ${errorText(error)}`);
  }
}

function installed(): ProcessTracing | undefined {
  return (globalThis as { [TRACING]?: ProcessTracing })[TRACING];
}

function install(tracing: ProcessTracing): ProcessTracing {
  (globalThis as { [TRACING]?: ProcessTracing })[TRACING] = tracing;
  return tracing;
}

function failure(message: string): Error {
  return Object.assign(new Error(message), { code: 'GenericFailure' });
}

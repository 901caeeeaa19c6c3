export const TRACE_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type TraceLevel = (typeof TRACE_LEVELS)[number];

/** Whose code speaks. */
export type TraceTarget = 'duroxide::orchestration' | 'duroxide::activity';

/** One call of a trace method of a context. */
export interface TraceRecord {
  readonly level: TraceLevel;
  readonly target: TraceTarget;
  readonly message: string;
  /** In the order in which they are printed. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Where traces go. Never throws. */
export type WriteTrace = (record: TraceRecord) => void;

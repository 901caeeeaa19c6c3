import type { ErrorDetails } from '../../wire/error-details.js';
import type { FailureData } from '../../wire/failure.js';

/** The code and the history do not fit together, or the history is damaged: never retried. */
export function nondeterminism(message: string): ErrorDetails {
  return { kind: 'Configuration', configuration: 'Nondeterminism', resource: '', message };
}

/** The orchestration itself failed: its own error, or a limit it ran into. */
export function orchestrationFailed(message: string, failure?: FailureData): ErrorDetails {
  const details = {
    kind: 'Application',
    application: { kind: 'OrchestrationFailed' },
    message,
    retryable: false,
  } as const;
  return failure ? { ...details, failure } : details;
}

/** What was kept of the error beside its text. */
export function failureOf(details: ErrorDetails): FailureData | undefined {
  return details.kind === 'Application' ? details.failure : undefined;
}

export function panicked(message: string): ErrorDetails {
  return { kind: 'Application', application: { kind: 'Panicked' }, message, retryable: false };
}

export function cancelled(reason: string): ErrorDetails {
  return { kind: 'Application', application: { kind: 'Cancelled', reason }, message: '', retryable: false };
}

/** The settle loop did not come to rest: a runaway guard (runtime.md 2.6). */
export function unsettled(iterations: number): ErrorDetails {
  return {
    kind: 'Infrastructure',
    operation: 'quiescence_loop',
    message: `quiescence loop exceeded ${iterations} iterations: the orchestration goes on scheduling without ever waiting`,
    retryable: false,
  };
}

/** System failures abort the turn and are never seen by the user's code (runtime.md 2.3). */
export function isSystemFailure(details: ErrorDetails): boolean {
  return details.kind !== 'Application';
}

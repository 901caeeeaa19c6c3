/** Says whether an unhandled rejection is its own, and has then dealt with it. Runs in the rejection's async context. */
export type ClaimRejection = (reason: unknown, promise: Promise<unknown>) => boolean;

/** Hears that a rejection which was claimed is handled after all. */
type RejectionHandled = (promise: Promise<unknown>) => void;

interface Guard {
  readonly claims: Map<ClaimRejection, RejectionHandled>;
  readonly onRejection: (reason: unknown, promise: Promise<unknown>) => void;
  readonly onHandled: (promise: Promise<unknown>) => void;
}

/**
 * One per process and not per copy of the package: with a listener of each, nobody could
 * tell a rejection that another one has claimed from one that must end the process.
 * Another version of the package in the same process reads what is found by this name: a
 * guard of another shape gets another number.
 */
const GUARD = Symbol.for('duroxide-drizzle.rejectionGuard.2');

/**
 * Asks `claim` about every unhandled rejection of the process, until the returned function
 * is called. What nobody claims takes exactly Node's course.
 */
export function claimRejections(claim: ClaimRejection, handled: RejectionHandled = () => {}): () => void {
  const guard = guardOfProcess();
  if (guard.claims.size === 0) {
    process.on('unhandledRejection', guard.onRejection);
    process.on('rejectionHandled', guard.onHandled);
  }
  guard.claims.set(claim, handled);
  return () => {
    if (!guard.claims.delete(claim) || guard.claims.size > 0) return;
    process.off('unhandledRejection', guard.onRejection);
    process.off('rejectionHandled', guard.onHandled);
  };
}

function guardOfProcess(): Guard {
  const holder = globalThis as { [GUARD]?: Guard };
  holder[GUARD] ??= makeGuard();
  return holder[GUARD];
}

function makeGuard(): Guard {
  const claims = new Map<ClaimRejection, RejectionHandled>();
  const claimed = new WeakMap<Promise<unknown>, RejectionHandled>();
  return {
    claims,
    onRejection: (reason, promise) => {
      for (const [claim, handled] of claims) {
        if (!claim(reason, promise)) continue;
        claimed.set(promise, handled);
        return;
      }
      // Somebody else listens, or Node was told not to end: then our listener changes nothing.
      if (process.listenerCount('unhandledRejection') > 1 || !rejectionsEndTheProcess()) return;
      throw reason instanceof Error ? reason : errorForReason(reason);
    },
    onHandled: (promise) => {
      const handled = claimed.get(promise);
      if (handled) return handled(promise);
      // For all others Node warns, if nobody listens; with our listener it would not.
      if (process.listenerCount('rejectionHandled') > 1) return;
      process.emitWarning('Promise rejection was handled asynchronously', 'PromiseRejectionHandledWarning');
    },
  };
}

/** Node's default mode; in the others Node itself does what they say, whoever listens. */
function rejectionsEndTheProcess(): boolean {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  const mode = flags.findLast((flag) => flag.startsWith('--unhandled-rejections='));
  return mode === undefined || mode.endsWith('=throw');
}

/** As Node words it for a reason that is no error. */
function errorForReason(reason: unknown): Error {
  const shown = typeof reason === 'object' && reason !== null ? Object.prototype.toString.call(reason) : String(reason);
  const error = new Error(
    'This error originated either by throwing inside of an async function without a catch block, ' +
      `or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "${shown}".`,
  );
  return Object.assign(error, { code: 'ERR_UNHANDLED_REJECTION' });
}

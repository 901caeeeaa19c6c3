/** Says whether an unhandled rejection is its own, and has then dealt with it. Runs in the rejection's async context. */
export type ClaimRejection = (reason: unknown) => boolean;

interface Guard {
  readonly claims: Set<ClaimRejection>;
  readonly listener: (reason: unknown) => void;
}

/**
 * One per process and not per copy of the package: with a listener of each, nobody could
 * tell a rejection that another one has claimed from one that must end the process.
 */
const GUARD = Symbol.for('duroxide-drizzle.rejectionGuard');

/**
 * Asks `claim` about every unhandled rejection of the process, until the returned function
 * is called. What nobody claims takes exactly Node's course.
 */
export function claimRejections(claim: ClaimRejection): () => void {
  const guard = guardOfProcess();
  if (guard.claims.size === 0) process.on('unhandledRejection', guard.listener);
  guard.claims.add(claim);
  return () => {
    if (guard.claims.delete(claim) && guard.claims.size === 0) process.off('unhandledRejection', guard.listener);
  };
}

function guardOfProcess(): Guard {
  const holder = globalThis as { [GUARD]?: Guard };
  holder[GUARD] ??= makeGuard();
  return holder[GUARD];
}

function makeGuard(): Guard {
  const claims = new Set<ClaimRejection>();
  return {
    claims,
    listener: (reason) => {
      for (const claim of claims) if (claim(reason)) return;
      // Somebody else listens, or Node was told not to end: then our listener changes nothing.
      if (process.listenerCount('unhandledRejection') > 1 || !rejectionsEndTheProcess()) return;
      throw reason instanceof Error ? reason : errorForReason(reason);
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

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, once. However many wait for a signal it has one listener
 * of ours: more than ten look like a leak to Node.js, which then warns the user.
 * @returns what ends the waiting
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let listeners = waiting.get(signal);
  if (!listeners) {
    waiting.set(signal, (listeners = new Set()));
    signal.addEventListener('abort', callAll, { once: true });
  }
  // Of its own, so that one function can wait twice.
  const entry = () => listener();
  listeners.add(entry);
  return () => {
    const left = waiting.get(signal);
    if (!left?.delete(entry) || left.size > 0) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', callAll);
  };
}

function callAll(this: AbortSignal): void {
  const listeners = waiting.get(this);
  waiting.delete(this);
  for (const listener of listeners ?? []) listener();
}

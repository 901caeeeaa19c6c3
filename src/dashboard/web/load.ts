import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, getJson } from './api';

/** What a page knows of what it asked for. The last value stays while it is asked for again. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
  readonly set: (change: (value: T) => T) => void;
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** Loads again whenever path or query change; an answer that comes too late is dropped. */
export function useLoad<T>(path: string, query: Query): Loaded<T> {
  const key = JSON.stringify([path, query]);
  const [state, setState] = useState<{ key: string; value?: T; error?: ApiError; isLoading: boolean }>({
    key: '',
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const request = useRef<AbortController>();
  useEffect(() => {
    const abort = new AbortController();
    request.current = abort;
    setState((old) => (old.key === key ? { ...old, isLoading: true } : { key, isLoading: true }));
    getJson<T>(path, query, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ key, value, isLoading: false });
      },
      (reason: unknown) => {
        if (abort.signal.aborted) return;
        const error = reason instanceof ApiError ? reason : new ApiError(0, 'unexpected', String(reason));
        setState((old) => ({ ...old, key, error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((value) => value + 1), []);
  const set = useCallback(
    (change: (value: T) => T) =>
      setState((old) => (old.value === undefined ? old : { ...old, value: change(old.value) })),
    [],
  );
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
    set,
  };
}

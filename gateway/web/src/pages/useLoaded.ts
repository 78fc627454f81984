import { useCallback, useEffect, useState } from 'react';
import { ApiError } from '../protocol/http';

export type Loaded<T> =
  { state: 'loading' } | { state: 'failed'; error: ApiError } | { state: 'here'; value: T };

/** Loads something once, and again on request. `load` must be stable. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>): [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading' });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setLoaded({ state: 'here', value });
      },
      (fault: unknown) => {
        if (abort.signal.aborted) return;
        const error = fault instanceof ApiError ? fault : new ApiError(0, 'internal', String(fault));
        setLoaded({ state: 'failed', error });
      },
    );
    return () => {
      abort.abort();
    };
  }, [load, round]);
  const again = useCallback(() => {
    setRound((n) => n + 1);
  }, []);
  return [loaded, again];
}

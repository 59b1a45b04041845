import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** What a page asked for: nothing yet, the value, or why there is none. A value stays while it is loaded again. */
export interface Load<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface Known<Value> {
  readonly key: string;
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/**
 * Loads when the component appears, when `key` changes, and every `everyMs` while the page is seen. An answer to an older
 * question is dropped.
 */
export function useLoad<Value>(key: string, load: () => Promise<Value>, everyMs?: number): Load<Value> {
  const [known, setKnown] = useState<Known<Value>>({ key, value: undefined, error: undefined, isLoading: true });
  const turn = useRef(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => {
    turn.current += 1;
    const mine = turn.current;
    setKnown((before) => ({ ...before, ...(before.key === key ? {} : { value: undefined }), key, isLoading: true }));
    latest.current().then(
      (value) => mine === turn.current && setKnown({ key, value, error: undefined, isLoading: false }),
      (error: unknown) =>
        mine === turn.current &&
        setKnown((before) => ({ key, value: before.key === key ? before.value : undefined, error, isLoading: false })),
    );
  }, [key]);
  useEffect(() => {
    reload();
    return () => {
      turn.current += 1;
    };
  }, [reload]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
  // Between the change of a key and its effect, the value is still that of the key before.
  const value = known.key === key ? known.value : undefined;
  return { value, error: known.error, isLoading: known.isLoading, reload };
}

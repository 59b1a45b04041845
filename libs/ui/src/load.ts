import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { waitOf } from './refused.js';

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

const nothing = (key: string) => ({ key, value: undefined, error: undefined, isLoading: true });

/**
 * Loads when the component appears, when `key` changes, and while the page is seen: every `everyMs`, and after a fault that
 * passes by itself. The time runs from one answer to the next question, so that a slow relay is not asked twice at once. An
 * answer to an older question is dropped.
 */
export function useLoad<Value>(key: string, load: () => Promise<Value>, everyMs?: number): Load<Value> {
  const [known, setKnown] = useState<Known<Value>>(nothing(key));
  const turn = useRef(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => {
    turn.current += 1;
    const mine = turn.current;
    setKnown((before) => (before.key === key ? { ...before, isLoading: true } : nothing(key)));
    latest.current().then(
      (value) => mine === turn.current && setKnown({ key, value, error: undefined, isLoading: false }),
      (error: unknown) => mine === turn.current && setKnown((before) => ({ ...before, error, isLoading: false })),
    );
  }, [key]);
  useEffect(() => {
    reload();
    return () => {
      turn.current += 1;
    };
  }, [reload]);
  useEffect(() => {
    const waitMs = known.isLoading ? undefined : (waitOf(known.error) ?? everyMs);
    if (waitMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, waitMs);
    return () => clearInterval(timer);
  }, [reload, everyMs, known]);
  // Between the change of a key and its effect, what is known is still of the key before.
  const { value, error, isLoading } = known.key === key ? known : nothing(key);
  return { value, error, isLoading, reload };
}

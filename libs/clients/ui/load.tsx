import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Button, Notice } from './parts.js';
import { place } from './place.js';
import { waitOf, wordsOf } from './request.js';

/** Result of a request of a page: nothing yet, the value, or why there is none. A value stays while it is loaded again. */
export interface Load<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

type Known<Value> = Omit<Load<Value>, 'reload'> & { readonly key: string };

/** Last values of the places of this session, newest at the end: a place that is refused for now shows what it had. */
const kept = new Map<string, unknown>();
const KEPT = 50;

function keep(name: string, value: unknown): void {
  kept.delete(name);
  kept.set(name, value);
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}

/** To be called when the session ends: the next reader may be somebody else. */
export const forgetLoaded = (): void => kept.clear();

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
    const name = `${place.peek().path.join('/')} ${key}`;
    const asked = async (): Promise<void> => {
      try {
        const value = await latest.current();
        if (mine !== turn.current) return;
        keep(name, value);
        setKnown({ key, value, error: undefined, isLoading: false });
      } catch (error) {
        if (mine !== turn.current) return;
        const had = waitOf(error) === undefined ? undefined : (kept.get(name) as Value | undefined);
        setKnown((before) => ({ ...before, value: before.value ?? had, error, isLoading: false }));
      }
    };
    void asked();
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

interface LoadedProps<Value> {
  readonly of: Load<Value>;
  /** Name of the loaded thing for messages: `the webhooks`. */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** Shows a load: its value, beside a fault of the newest try; or that it is under way; or why there is nothing. */
export function Loaded<Value>({ of: { value, error, isLoading, reload }, what, children }: LoadedProps<Value>) {
  return (
    <>
      {error !== undefined && (
        <Notice kind="bad" title={value === undefined ? `Cannot show ${what}` : `Cannot refresh ${what}`}>
          <p>
            {wordsOf(error)}
            {waitOf(error) !== undefined && ' This page asks again by itself.'}
          </p>
          <Button name="Try again" run={reload} />
        </Notice>
      )}
      {value === undefined && isLoading && error === undefined && (
        <p class="loading" role="status">
          Loading {what}…
        </p>
      )}
      {value !== undefined && children(value)}
    </>
  );
}

/** Why the newest try of something was refused, `''` if it was not; what tries it; and what tells another reason. */
export function useTry(): readonly [string, (work: () => Promise<void>) => void, (fault: string) => void] {
  const [fault, setFault] = useState('');
  const attempt = (work: () => Promise<void>): void => {
    setFault('');
    work().catch((error: unknown) => setFault(wordsOf(error)));
  };
  return [fault, attempt, setFault];
}

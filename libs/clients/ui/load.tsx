import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Button, Notice } from './parts.js';
import { place } from './place.js';
import { waitOf, wordsOf } from './request.js';
import { clockText } from './times.js';

/** State of a request: no result yet, a value, or an error. The last value stays while it is loaded again. */
export interface Load<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
  /** Epoch milliseconds at which the value arrived, by the user's clock. */
  readonly asOf: number | undefined;
  /** Epoch milliseconds of the next try after a temporary error, by the user's clock. */
  readonly nextAt: number | undefined;
}

type Known<Value> = Omit<Load<Value>, 'reload'> & { readonly key: string };

/**
 * The last values that were loaded in this session, newest last. If a request is refused temporarily, the page shows the
 * last value.
 */
const kept = new Map<string, { readonly value: unknown; readonly asOf: number }>();
const KEPT = 50;

function keep(name: string, value: unknown): void {
  kept.delete(name);
  kept.set(name, { value, asOf: Date.now() });
  const [oldest] = kept.keys();
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest);
}

/** Forgets all loaded values. Call it when the session ends, because the next user may be another person. */
export const forgetLoaded = (): void => kept.clear();

const NOTHING = { value: undefined, error: undefined, isLoading: true, asOf: undefined, nextAt: undefined };
const nothing = (key: string) => ({ ...NOTHING, key });

/**
 * Loads a value when the component appears and when `key` changes. While the page is visible, it loads the value again every
 * `everyMs`, and after a temporary error. The interval begins when a response has arrived, so that a slow relay never gets
 * two requests at once. The response to an older request is ignored.
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
        setKnown({ key, value, error: undefined, isLoading: false, asOf: Date.now(), nextAt: undefined });
      } catch (error) {
        if (mine !== turn.current) return;
        const waitMs = waitOf(error);
        const had = waitMs === undefined ? undefined : kept.get(name);
        const nextAt = waitMs === undefined ? undefined : Date.now() + waitMs;
        setKnown(({ value = had?.value as Value | undefined, asOf = had?.asOf }) => {
          return { key, value, asOf, error, isLoading: false, nextAt };
        });
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
  // After `key` has changed and before the effect runs, `known` still has the value of the previous key.
  return { ...(known.key === key ? known : nothing(key)), reload };
}

interface LoadedProps<Value> {
  readonly of: Load<Value>;
  /** Name of the loaded value for messages, for example `the webhooks`. */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** Shows the state of a request: its value and the error of the last try, or that it is loading, or why it failed. */
export function Loaded<Value>({ of: load, what, children }: LoadedProps<Value>) {
  const { value, error, isLoading, reload, asOf, nextAt } = load;
  return (
    <>
      {error !== undefined && (
        <Notice kind="bad" title={value === undefined ? `Cannot show ${what}` : `Cannot refresh ${what}`}>
          <p>
            {wordsOf(error, false)}
            {nextAt !== undefined && ` This page asks again at ${clockText(nextAt)}.`}
            {asOf !== undefined && ` It shows the state of ${clockText(asOf)}.`}
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

/**
 * Returns the error message of the last try (`''` if there is none), a function that tries something, and a function that
 * sets the error message.
 */
export function useTry(): readonly [string, (work: () => Promise<void>) => void, (fault: string) => void] {
  const [fault, setFault] = useState('');
  const attempt = (work: () => Promise<void>): void => {
    setFault('');
    work().catch((error: unknown) => setFault(wordsOf(error)));
  };
  return [fault, attempt, setFault];
}

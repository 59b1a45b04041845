import type { ComponentChildren } from 'preact';
import type { Load } from './load.js';
import { Notice } from './notice.js';
import { waitOf, wordsOf } from './refused.js';

interface LoadedProps<Value> {
  readonly of: Load<Value>;
  /** What is loaded, for the words: `the webhooks`. */
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
          <button type="button" onClick={reload}>
            Try again
          </button>
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

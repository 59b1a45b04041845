import { useState } from 'preact/hooks';
import { Icon } from './icons.js';

interface CopyProps {
  readonly text: string;
  /** Name of the copied text for screen readers. */
  readonly what: string;
}

/** Returns a function that copies a text, and whether that has succeeded; undefined before the first try. */
function useCopy(text: string): readonly [isCopied: boolean | undefined, copy: () => void] {
  const [done, setDone] = useState<{ readonly text: string; readonly isCopied: boolean }>();
  const copy = async (): Promise<void> => {
    // Browsers provide no clipboard to pages over plain HTTP.
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    const isCopied = await copied.then(
      () => true,
      () => false,
    );
    setDone({ text, isCopied });
  };
  // The result applies only to the text that was copied.
  return [done?.text === text ? done.isCopied : undefined, () => void copy()];
}

/** A button that copies a text. */
export function Copy({ text, what }: CopyProps) {
  const [isCopied, copy] = useCopy(text);
  const said = isCopied === undefined ? 'Copy' : isCopied ? 'Copied' : 'Select and copy it yourself';
  return (
    <button type="button" class="plain" onClick={copy} aria-label={`${said}: ${what}`}>
      {said}
    </button>
  );
}

/** The first characters of an id. A click copies the whole id; if the browser refuses that, the whole id is shown. */
export function Id({ id }: { readonly id: string }) {
  const [isCopied, copy] = useCopy(id);
  if (isCopied === false) return <code>{id}</code>;
  const label = `${shortId(id)}: ${isCopied ? 'Copied' : 'Copy'} id`;
  return (
    <button type="button" class="bare id" title={id} onClick={copy} aria-label={label}>
      <code>{shortId(id)}</code>
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
}

/** Returns the first eight characters of an id, after the kind that a client id begins with. */
export const shortId = (id: string): string => /^(?:[a-z]+_)?.{0,8}/.exec(id)?.[0] ?? id;

/** A curl command that gets the shown data or makes the shown change. */
export const Curl = ({ line }: { readonly line: string }) => (
  <details class="curl">
    <summary>Copy as curl</summary>
    <pre tabIndex={0} role="region" aria-label="Command">
      {line}
    </pre>
    <Copy text={line} what="command" />
  </details>
);

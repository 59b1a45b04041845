import { useState } from 'preact/hooks';
import { readable, visible } from './json-text.js';
import { bytesText } from './times.js';

/** Characters that are shown at once: more would hold the page up. */
const SHOWN = 20_000;

interface ViewerProps {
  /** Read out before the text. */
  readonly label: string;
  readonly text: string;
}

/** Text of somebody else, as text only: nothing in it is markup, hides or turns what stands beside it. */
export function Viewer({ label, text }: ViewerProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = visible(readable(text));
  const isCut = !isWhole && shown.length > SHOWN;
  return (
    <div class="viewer">
      <pre tabIndex={0} role="region" aria-label={label} dir="ltr">
        {isCut ? shown.slice(0, SHOWN) : shown}
      </pre>
      <p class="viewer-foot">
        <span class="quiet">{bytesText(new TextEncoder().encode(text).length)}</span>
        {isCut && (
          <button type="button" class="plain" onClick={() => setWhole(true)}>
            Show all
          </button>
        )}
        <Copy text={text} what={label} />
      </p>
    </div>
  );
}

interface CopyProps {
  readonly text: string;
  /** What is copied, for a screen reader. */
  readonly what: string;
}

/** Copies a text. */
export function Copy({ text, what }: CopyProps) {
  const [done, setDone] = useState({ text, said: 'Copy' });
  // What was said belongs to the text that was copied.
  const said = done.text === text ? done.said : 'Copy';
  const copy = async (): Promise<void> => {
    // Browsers have no clipboard for pages of plain HTTP.
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setDone({ text, said: isCopied ? 'Copied' : 'Select and copy it yourself' });
  };
  return (
    <button type="button" class="plain" onClick={() => void copy()} aria-label={`${said}: ${what}`}>
      {said}
    </button>
  );
}

/** The call behind what is shown or done, as a line of curl. */
export const Curl = ({ line }: { readonly line: string }) => (
  <details class="curl">
    <summary>As a command</summary>
    <pre tabIndex={0} role="region" aria-label="Command">
      {line}
    </pre>
    <Copy text={line} what="command" />
  </details>
);

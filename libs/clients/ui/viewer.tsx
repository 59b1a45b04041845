import { useState } from 'preact/hooks';
import { bytesText } from './times.js';

/** Characters that are shown at once; more slow the page down. */
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
  /** Name of the copied text, for a screen reader. */
  readonly what: string;
}

/** Copies a text. */
export function Copy({ text, what }: CopyProps) {
  const [done, setDone] = useState({ text, said: 'Copy' });
  // `Copied` is about the text that was copied: another text begins with `Copy`.
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

/** JSON indented for reading; any other text as it is. Numbers and the order of members stay as they were sent. */
export function readable(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  return indented(text);
}

/** Spaces around the tokens only: `JSON.stringify` changes numbers such as 1.10. */
function indented(text: string): string {
  const out: string[] = [];
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const before = out.at(-1);
    if (token === '}' || token === ']') {
      depth -= 1;
      out.push(before === '{' || before === '[' ? token : `${line()}${token}`);
      continue;
    }
    if (before === '{' || before === '[') out.push(line());
    if (token === ',') out.push(`,${line()}`);
    else if (token === ':') out.push(': ');
    else out.push(token);
    if (token === '{' || token === '[') depth += 1;
  }
  return out.join('');
}

/** Control characters, of which a tab and a line break are none here. */
const CONTROLS = new RegExp(String.raw`[\u0000-\u0008\u000b-\u001f\u007f]`, 'g');

/** Characters that are invisible or change the direction of the text after them. */
const HIDDEN = new RegExp(String.raw`[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]`, 'g');

/** Control characters by their pictures and what hides or turns other text by its number, so that all of a text is seen. */
export const visible = (text: string): string =>
  text
    .replaceAll(CONTROLS, (character) =>
      String.fromCodePoint(character === '\u007f' ? 0x24_21 : 0x24_00 + codeOf(character)),
    )
    .replaceAll(HIDDEN, (character) => `⟨U+${codeOf(character).toString(16).toUpperCase().padStart(4, '0')}⟩`);

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

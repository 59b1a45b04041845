import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Copy } from './copy.js';
import { bytesText } from './times.js';

/** Number of characters that are shown at first. More characters slow the page down. */
const SHOWN = 20_000;

interface ViewerProps {
  /** Read aloud by screen readers before the text. */
  readonly label: string;
  readonly text: string;
  /** A heading in the line above the text. */
  readonly heading?: ComponentChildren;
}

/**
 * Shows a foreign text as plain text. Markup in it has no effect, and nothing in it can hide or reverse the text beside it.
 */
export function Viewer({ label, text, heading }: ViewerProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = visible(readable(text));
  const isCut = !isWhole && shown.length > SHOWN;
  return (
    <div class="viewer">
      <div class="viewer-head">
        {heading}
        <span class="quiet">{bytesText(new TextEncoder().encode(text).length)}</span>
        {isCut && (
          <button type="button" class="plain" onClick={() => setWhole(true)}>
            Show all
          </button>
        )}
        <Copy text={text} what={label} />
      </div>
      <pre tabIndex={0} role="region" aria-label={label} dir="ltr">
        {isCut ? shown.slice(0, SHOWN) : shown}
      </pre>
    </div>
  );
}

/**
 * Indents a JSON text for reading. Any other text is returned as it is. Numbers and the order of members stay as they were
 * sent.
 */
export function readable(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  return indented(text);
}

/** Changes only the white space between tokens, because `JSON.stringify` changes numbers such as 1.10. */
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

/** Control characters except tab and line feed. */
const CONTROLS = new RegExp(String.raw`[\u0000-\u0008\u000b-\u001f\u007f]`, 'g');

/** Characters that are invisible or change the direction of the text after them. */
const HIDDEN = new RegExp(String.raw`[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]`, 'g');

/**
 * Makes hidden characters of a text visible. A control character becomes its Unicode picture. A character that is invisible
 * or changes the direction of text becomes its code point, such as `⟨U+202E⟩`.
 */
export const visible = (text: string): string =>
  text
    .replaceAll(CONTROLS, (character) =>
      String.fromCodePoint(character === '\u007f' ? 0x24_21 : 0x24_00 + codeOf(character)),
    )
    .replaceAll(HIDDEN, (character) => `⟨U+${codeOf(character).toString(16).toUpperCase().padStart(4, '0')}⟩`);

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

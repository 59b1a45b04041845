import type { Signal } from '@preact/signals';
import { useId, useRef } from 'preact/hooks';
import type { JsonText, LineFault } from './json-lines.js';

interface JsonFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: Signal<string>;
  readonly faults: readonly LineFault[];
}

const SHORTEST = 10;
const LONGEST = 30;

/** Field for a JSON text with the numbers of its lines. A fault leads to its line. */
export function JsonField({ label, hint, value, faults }: JsonFieldProps) {
  const id = useId();
  const [area, gutter] = [useRef<HTMLTextAreaElement>(null), useRef<HTMLPreElement>(null)];
  const lines = value.value.split('\n');
  const faulty = new Set(faults.map(({ line }) => line));
  const show = (line: number): void => {
    if (area.current === null) return;
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    area.current.focus();
    area.current.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    area.current.scrollTop = (line - SHORTEST / 2) * (area.current.scrollHeight / lines.length);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="json">
        <pre ref={gutter} aria-hidden="true">
          {lines.map((_, index) => (
            <span key={index} class={faulty.has(index + 1) ? 'faulty' : ''}>{`${index + 1}\n`}</span>
          ))}
        </pre>
        <textarea
          ref={area}
          id={id}
          wrap="off"
          rows={Math.min(LONGEST, Math.max(SHORTEST, lines.length + 1))}
          spellcheck={false}
          autocomplete="off"
          value={value.value}
          aria-invalid={faults.length > 0}
          aria-describedby={`${id}-hint ${id}-faults`}
          onInput={({ currentTarget }) => (value.value = currentTarget.value)}
          onScroll={({ currentTarget }) => gutter.current?.scrollTo(0, currentTarget.scrollTop)}
        />
      </div>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <ul class="faults error" id={`${id}-faults`} aria-live="polite">
        {faults.map(({ line, detail }) => (
          <li key={`${line} ${detail}`}>
            <button type="button" class="plain" onClick={() => show(line)}>
              Line {line}
            </button>
            : {detail}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The faults of a text: its own, or else those that the relay found in its value. Pointers lead into the value. */
export function faultsOfText(
  text: JsonText,
  found: readonly { readonly pointer: string; readonly detail: string }[],
): LineFault[] {
  if (text.kind === 'faulty') return [text.fault];
  return found.map(({ pointer, detail }) => ({ line: text.kind === 'read' ? text.lineOf(pointer) : 1, detail }));
}

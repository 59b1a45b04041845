import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Fault, type Kind } from './parts.js';
import { place } from './place.js';
import { wordsOf } from './request.js';
import { Curl } from './viewer.js';

/** A change that the reader is asked about once. */
export interface Question {
  readonly title: string;
  /** Effect of the change, with numbers if there are any. */
  readonly words: ComponentChildren;
  /** The name of the button that does it. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** The calls that do it. */
  readonly curl: string;
  /** Does it, and returns what to say afterwards: what went well, unless it says otherwise. */
  readonly run: () => Promise<string | Saying>;
}

/** Message about a change that was made. */
export interface Saying {
  readonly kind: Kind;
  readonly text: string;
}

const asked = signal<Question | undefined>(undefined);
const said = signal<(Saying & { readonly turn: number }) | undefined>(undefined);

/**
 * Asks before a change; the answer, or why it was refused, is said on the page. A question that is open stays: a click that is meant
 * for it must not confirm another one.
 */
export function ask(question: Question): void {
  asked.value ??= question;
}

/** To be called when the session ends: what was asked is of somebody who is no longer there, and covers the way back in. */
export function forgetAsked(): void {
  asked.value = undefined;
}

/** Says on the page, and to a screen reader, what was done. It stays until something else is said, or the reader goes on. */
export function say(what: string | Saying | undefined): void {
  if (what === undefined) said.value = undefined;
  else {
    const saying = typeof what === 'string' ? { kind: 'good' as const, text: what } : what;
    said.value = { ...saying, turn: (said.value?.turn ?? 0) + 1 };
  }
}

/** Whether what was done has brought the reader to another screen, which shows what was said of it. */
let isCarried = false;

/** To be called by a screen that the reader came to: what was said on the one before is gone. */
export function cameTo(): void {
  if (!isCarried) say(undefined);
  isCarried = false;
}

/** Shows what `say` reports; each page has one. */
export const Said = () => (
  <div role="status" class="said">
    {said.value !== undefined && (
      <div class={`notice ${said.value.kind} row`} key={said.value.turn}>
        <p>{said.value.text}</p>
        <button type="button" class="plain" onClick={() => say(undefined)}>
          Close
        </button>
      </div>
    )}
  </div>
);

/** Shows the question of `ask`; each page has one. */
export const Asked = () => (asked.value === undefined ? null : <Dialog question={asked.value} />);

function Dialog({ question }: { readonly question: Question }) {
  const { title, words, verb, isDangerous = false, curl, run } = question;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isRunning, setRunning] = useState(false);
  /** Set at once, unlike the state: the second click of a double click comes before the next render. */
  const isBegun = useRef(false);
  const [error, setError] = useState('');
  // The browser keeps the focus inside, and gives it back at the end.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    dialog.current?.close();
    asked.value = undefined;
  };
  // The question is about what was shown when it was asked: Back takes it away. A running change still reports its end.
  const here = place.value;
  const askedAt = useRef(here);
  useEffect(() => {
    if (here !== askedAt.current && !isRunning) close();
  }, [here]);
  const act = async (): Promise<void> => {
    if (isBegun.current) return;
    isBegun.current = true;
    setRunning(true);
    setError('');
    try {
      const from = location.hash;
      const saying = await run();
      isCarried = location.hash !== from;
      close();
      say(saying);
      forgetSent();
    } catch (fault) {
      setError(wordsOf(fault));
      setRunning(false);
      isBegun.current = false;
    }
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="asked"
      onCancel={(event) => {
        event.preventDefault();
        if (!isBegun.current) close();
      }}
      // A second Escape closes a dialog whatever the page says: what is under way stays in sight, and so does its fault.
      onClose={() => {
        if (asked.value !== question) return;
        if (isBegun.current) dialog.current?.showModal();
        else close();
      }}
    >
      <h2 id="asked">{title}</h2>
      <div>{words}</div>
      <Fault title="It was not done" words={error} />
      <Curl line={curl} />
      <div class="buttons">
        {/* The first to have the focus: a key that is held down confirms nothing. */}
        <button type="button" onClick={close} disabled={isRunning} autofocus>
          Cancel
        </button>
        <button
          type="button"
          class={isDangerous ? 'main danger' : 'main'}
          onClick={() => void act()}
          aria-disabled={isRunning}
        >
          {isRunning ? 'Working…' : verb}
        </button>
      </div>
    </dialog>
  );
}

/** Set on a form that holds what nobody has saved: `typed`, and `sent` once the reader has sent it off. */
const MARK = 'data-unsaved';

/** From now on the browser asks before it loads or leaves the page while a form holds what was typed and not saved. */
export function guardTyped(): void {
  const mark = (value: string) => (event: Event) => {
    // The address holds the filters of a list, and a search is quickly typed again.
    const form = (event.target as Element).closest('form:not(.filters, [role="search"])');
    if (value === 'typed' || form?.hasAttribute(MARK) === true) form?.setAttribute(MARK, value);
  };
  addEventListener('input', mark('typed'));
  addEventListener('submit', mark('sent'));
  addEventListener('beforeunload', (event) => {
    if (document.querySelector(`[${MARK}]`) !== null) event.preventDefault();
  });
}

/** To be called before the page is loaded again on purpose: what was typed belongs to a session that is over. */
export function forgetTyped(): void {
  for (const form of document.querySelectorAll(`[${MARK}]`)) form.removeAttribute(MARK);
}

/** To be called when something was done: a form that was sent off is saved now. */
function forgetSent(): void {
  for (const form of document.querySelectorAll(`[${MARK}="sent"]`)) form.removeAttribute(MARK);
}

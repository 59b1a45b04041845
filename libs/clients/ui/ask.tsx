import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Fault, type Kind } from './parts.js';
import { place } from './place.js';
import { wordsOf } from './request.js';
import { Curl } from './copy.js';

/** A change that the user has to confirm. */
export interface Question {
  readonly title: string;
  /** Description of what the change does, with numbers if there are any. */
  readonly words: ComponentChildren;
  /** The label of the button that confirms the change. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** The curl commands that make the same change. */
  readonly curl: string;
  /** Makes the change and returns the message to show afterwards. A string is shown as a success. */
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
 * Asks the user to confirm a change. The result is shown on the page, and an error in the dialog. If another question is
 * open, the new question is ignored; otherwise a click that was meant for the open question could confirm the new one.
 */
export function ask(question: Question): void {
  asked.value ??= question;
}

/**
 * Closes the open question. Call it when the session ends, because the question belongs to the user who was logged in, and
 * because it covers the login page.
 */
export function forgetAsked(): void {
  asked.value = undefined;
}

/**
 * Shows a message on the page; screen readers read it aloud. The message stays until another message replaces it or the user
 * goes to another screen.
 */
export function say(what: string | Saying | undefined): void {
  if (what === undefined) said.value = undefined;
  else {
    const saying = typeof what === 'string' ? { kind: 'good' as const, text: what } : what;
    said.value = { ...saying, turn: (said.value?.turn ?? 0) + 1 };
  }
}

/** True if the change that was just made has led to another screen. That screen then shows the message about the change. */
let isCarried = false;

/** Removes the message of the previous screen, unless a change led to the new screen. Every new screen calls it. */
export function cameTo(): void {
  if (!isCarried) say(undefined);
  isCarried = false;
}

/** Shows the message of `say`. Each page has one. */
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

/** Shows the question of `ask`. Each page has one. */
export const Asked = () => (asked.value === undefined ? null : <Dialog question={asked.value} />);

function Dialog({ question }: { readonly question: Question }) {
  const { title, words, verb, isDangerous = false, curl, run } = question;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isRunning, setRunning] = useState(false);
  /**
   * A ref changes at once, but a state only with the next render, which may come after the second click of a double click.
   */
  const isBegun = useRef(false);
  const [error, setError] = useState('');
  // `showModal` keeps the focus inside the dialog, and the browser restores the focus when the dialog closes.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    dialog.current?.close();
    asked.value = undefined;
  };
  // The question is about the screen on which it was asked, so it closes when the user goes back. If the change is already
  // running, the dialog stays open and shows the result.
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
      // Browsers close a dialog at the second Escape, even if the page cancels the event. If a change is running, the dialog
      // is opened again so that its error can be seen.
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
        {/* Gets the focus first, so that a key that is held down does not confirm the change. */}
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

/** Attribute of a form with unsaved input: `typed`, or `sent` after the user has submitted the form. */
const MARK = 'data-unsaved';

/** Makes the browser ask before it reloads or leaves the page while a form has unsaved input. */
export function guardTyped(): void {
  const mark = (value: string) => (event: Event) => {
    // Filters are stored in the address, and a search is quickly typed again, so these forms are not guarded.
    const form = (event.target as Element).closest('form:not(.filters, [role="search"])');
    if (value === 'typed' || form?.hasAttribute(MARK) === true) form?.setAttribute(MARK, value);
  };
  addEventListener('input', mark('typed'));
  addEventListener('submit', mark('sent'));
  addEventListener('beforeunload', (event) => {
    if (document.querySelector(`[${MARK}]`) !== null) event.preventDefault();
  });
}

/** Forgets all unsaved input. Call it before the page is reloaded on purpose at the end of a session. */
export function forgetTyped(): void {
  for (const form of document.querySelectorAll(`[${MARK}]`)) form.removeAttribute(MARK);
}

/** Marks submitted forms as saved. It is called when a change has succeeded. */
function forgetSent(): void {
  for (const form of document.querySelectorAll(`[${MARK}="sent"]`)) form.removeAttribute(MARK);
}

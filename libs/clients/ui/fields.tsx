import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import type { Signal } from '@preact/signals';

interface Common {
  readonly label: string;
  readonly hint?: string;
  /** Why the value is not taken; undefined while it is. */
  readonly error?: string | undefined;
}

interface TextProps extends Common {
  readonly value: Signal<string>;
  readonly type?: 'text' | 'url' | 'password' | 'datetime-local' | 'search';
  readonly isRequired?: boolean;
  /** Value that a browser may fill in; none by default, because a secret here is not the reader’s own. */
  readonly filledBy?: 'username' | 'current-password';
  /** Lines of a larger field. */
  readonly lines?: number;
  /** Called when the reader leaves the field or presses Enter in it. */
  readonly settled?: () => void;
}

/** A line or a block of text. */
export function TextField(props: TextProps) {
  const { label, hint, error, value, type = 'text', isRequired, lines, settled, filledBy } = props;
  const id = useId();
  const shared = {
    id,
    value: value.value,
    required: isRequired === true,
    'aria-invalid': error !== undefined,
    'aria-describedby': describedBy(id, hint, error),
    // Browsers fill a saved password into a field that says `off`.
    autocomplete: filledBy ?? (type === 'password' ? 'new-password' : 'off'),
    // Without an end a year has six digits, and what is typed on goes into it.
    ...(type === 'datetime-local' ? { max: '9999-12-31T23:59' } : {}),
    spellcheck: false,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
      value.value = currentTarget.value;
    },
    onChange: () => {
      if (settled === undefined) return;
      // Filters of a list are often pasted; no filter has white space around it.
      value.value = value.value.trim();
      settled();
    },
  };
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      {lines === undefined ? (
        <input {...({ ...shared, type } as InputHTMLAttributes)} />
      ) : (
        <textarea {...shared} rows={lines} />
      )}
    </Field>
  );
}

/** The name of each choice by its value, in their order. */
export type Choices = Readonly<Record<string, string>>;

interface ChoiceProps extends Common {
  readonly value: Signal<string>;
  readonly choices: Choices;
  readonly settled?: () => void;
}

/** Field for one of several choices. */
export function ChoiceField({ label, hint, error, value, choices, settled }: ChoiceProps) {
  const id = useId();
  // An address or a list that changed may name another one: the field says what is chosen.
  const isKnown = Object.hasOwn(choices, value.value);
  return (
    <Field id={id} label={label} hint={hint} error={error}>
      <select
        id={id}
        value={value.value}
        aria-describedby={describedBy(id, hint, error)}
        onChange={({ currentTarget }) => {
          value.value = currentTarget.value;
          settled?.();
        }}
      >
        {!isKnown && <option value={value.value}>{value.value}</option>}
        {Object.entries(choices).map(([choice, name]) => (
          <option key={choice} value={choice}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface SeveralProps extends Common {
  readonly value: Signal<readonly string[]>;
  readonly choices: Choices;
}

/** Field for any number of choices. */
export function SeveralField({ label, hint, error, value, choices }: SeveralProps) {
  const id = useId();
  const change = (choice: string, isChosen: boolean): void => {
    const others = value.value.filter((each) => each !== choice);
    value.value = isChosen ? [...others, choice] : others;
  };
  return (
    <fieldset class="field" aria-describedby={describedBy(id, hint, error)}>
      <legend>{label}</legend>
      <div class="several">
        {Object.entries(choices).map(([choice, name]) => (
          <label key={choice} class="check">
            <input
              type="checkbox"
              checked={value.value.includes(choice)}
              onChange={({ currentTarget }) => change(choice, currentTarget.checked)}
            />
            <span>{name}</span>
          </label>
        ))}
      </div>
      <Below id={id} hint={hint} error={error} />
    </fieldset>
  );
}

const describedBy = (id: string, hint: string | undefined, error: string | undefined): string | undefined =>
  [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`].filter(Boolean).join(' ') ||
  undefined;

interface BelowProps {
  readonly id: string;
  readonly hint: string | undefined;
  readonly error: string | undefined;
}

interface FieldProps extends BelowProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

const Field = ({ label, children, ...below }: FieldProps) => (
  <div class="field">
    <label for={below.id}>{label}</label>
    {children}
    <Below {...below} />
  </div>
);

const Below = ({ id, hint, error }: BelowProps) => (
  <>
    {hint !== undefined && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error !== undefined && (
      <p class="error" id={`${id}-error`}>
        {error}
      </p>
    )}
  </>
);

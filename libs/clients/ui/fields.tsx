import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import type { Signal } from '@preact/signals';

interface Common {
  readonly label: string;
  readonly hint?: string;
  /** Why the value is invalid; undefined if it is valid. */
  readonly error?: string | undefined;
}

interface TextProps extends Common {
  readonly value: Signal<string>;
  readonly type?: 'text' | 'url' | 'password' | 'datetime-local' | 'search';
  readonly isRequired?: boolean;
  /**
   * The kind of value that a browser may fill in; none by default, because secrets on these pages are not the user's own
   * passwords.
   */
  readonly filledBy?: 'username' | 'current-password';
  /** Number of lines; a single-line field if absent. */
  readonly lines?: number;
  /** Called when the reader leaves the field or presses Enter in it. */
  readonly settled?: () => void;
}

/** A text field with one or more lines. */
export function TextField(props: TextProps) {
  const { label, hint, error, value, type = 'text', isRequired, lines, settled, filledBy } = props;
  const id = useId();
  const shared = {
    id,
    value: value.value,
    required: isRequired === true,
    'aria-invalid': error !== undefined,
    'aria-describedby': describedBy(id, hint, error),
    // Browsers ignore `off` in a password field and fill in a saved password.
    autocomplete: filledBy ?? (type === 'password' ? 'new-password' : 'off'),
    // Without a maximum, browsers accept a year of six digits, so further digits go into the year.
    ...(type === 'datetime-local' ? { max: '9999-12-31T23:59' } : {}),
    spellcheck: false,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
      value.value = currentTarget.value;
    },
    onChange: () => {
      if (settled === undefined) return;
      // Filters are often pasted with white space around them, which no filter needs.
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

/** The label of each choice by its value, in the order in which they are shown. */
export type Choices = Readonly<Record<string, string>>;

interface ChoiceProps extends Common {
  readonly value: Signal<string>;
  readonly choices: Choices;
  readonly settled?: () => void;
}

/** A field to select one of several choices. */
export function ChoiceField({ label, hint, error, value, choices, settled }: ChoiceProps) {
  const id = useId();
  // The value may come from the address or from an older list, so it may be missing from the choices. It is shown as it is.
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

/** A field to select any number of choices. */
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

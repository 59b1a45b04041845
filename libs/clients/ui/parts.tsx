import type { ComponentChildren } from 'preact';

export type Kind = 'good' | 'bad' | 'warn' | 'info';

interface NoticeProps {
  readonly kind: Kind;
  readonly title?: string;
  readonly children?: ComponentChildren;
}

/** A message in a frame. Screen readers read a message of the kind `bad` aloud at once. */
export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'note'}>
      {title !== undefined && <p class="notice-title">{title}</p>}
      {children}
    </div>
  );
}

/** A state in one or two words with a color. */
export const Badge = ({ kind, children }: { readonly kind: Kind; readonly children: ComponentChildren }) => (
  <span class={`badge ${kind}`}>{children}</span>
);

/** A message in place of an empty list. It says why the list is empty and what to do. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
);

/** Shows why something failed; nothing if `words` is empty. */
export const Fault = ({ title, words }: { readonly title: string; readonly words: string }) =>
  words === '' ? null : (
    <Notice kind="bad" title={title}>
      <p>{words}</p>
    </Notice>
  );

interface ButtonProps {
  readonly name: string;
  /** If absent, the button submits its form. */
  readonly run?: () => void;
  readonly isMain?: boolean;
}

export const Button = ({ name, run, isMain = false }: ButtonProps) => (
  <button type={run === undefined ? 'submit' : 'button'} class={isMain ? 'main' : ''} onClick={run}>
    {name}
  </button>
);

interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned. */
  readonly isNumber?: boolean;
}

interface TableProps<Row> {
  /** Read aloud by screen readers, but not visible. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown instead of a table without rows. */
  readonly empty?: ComponentChildren;
}

/** A table. On a narrow screen each row becomes a block that repeats the names of the columns. */
export function Table<Row>({ caption, columns, rows, keyOf, empty }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <table>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ name, isNumber }) => (
            <th key={name} scope="col" class={isNumber === true ? 'number' : ''}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ name, cell, isNumber }) => (
              <td key={name} data-name={name} class={isNumber === true ? 'number' : ''}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A list of names and values. Undefined values are left out. */
export const Facts = ({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {facts.map(
      ([name, value]) =>
        value !== undefined && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

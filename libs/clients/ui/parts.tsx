import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon, type IconName } from './icons.js';

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
  readonly icon?: IconName;
}

export const Button = ({ name, run, isMain = false, icon }: ButtonProps) => (
  <button type={run === undefined ? 'submit' : 'button'} class={isMain ? 'main' : ''} onClick={run}>
    {icon !== undefined && <Icon name={icon} />}
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
  /** Rows that follow each other with the same text are shown as one line, which opens them; undefined for a row of its own. */
  readonly sameOf?: (row: Row) => string | undefined;
  /** The line that stands for rows with the same text. */
  readonly lineOf?: (rows: readonly Row[]) => ComponentChildren;
}

/** Fewer rows are shown one by one. */
const FEWEST_SAME = 4;

/** A table. On a narrow screen each row becomes a block that repeats the names of the columns. */
export function Table<Row>({ caption, columns, rows, keyOf, empty, sameOf, lineOf }: TableProps<Row>) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const rowOf = (row: Row) => (
    <tr key={keyOf(row)}>
      {columns.map(({ name, cell, isNumber }) => (
        <td key={name} data-name={name} class={isNumber === true ? 'number' : ''}>
          <div>{cell(row)}</div>
        </td>
      ))}
    </tr>
  );
  const linesOf = (run: readonly Row[]) => {
    if (run.length < FEWEST_SAME) return run.map(rowOf);
    const keys = run.map(keyOf);
    // A run may lose and get rows, and stays open.
    const isOpen = keys.some((key) => opened.has(key));
    const others = [...opened].filter((key) => !keys.includes(key));
    return [
      <tr key={`line ${keys.at(-1)}`} class="same">
        <td colSpan={columns.length}>
          <button
            type="button"
            class="bare"
            aria-expanded={isOpen}
            onClick={() => setOpened(new Set(isOpen ? others : [...others, ...keys]))}
          >
            {lineOf?.(run)}
          </button>
        </td>
      </tr>,
      ...(isOpen ? run.map(rowOf) : []),
    ];
  };
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
      <tbody>{runsOf(rows, sameOf).flatMap(linesOf)}</tbody>
    </table>
  );
}

/** Divides rows into runs of rows that follow each other with the same text. */
export function runsOf<Row>(rows: readonly Row[], sameOf: (row: Row) => string | undefined = () => undefined): Row[][] {
  const runs: Row[][] = [];
  let before: string | undefined;
  for (const row of rows) {
    const text = sameOf(row);
    if (text !== undefined && text === before) runs.at(-1)?.push(row);
    else runs.push([row]);
    before = text;
  }
  return runs;
}

/** Returns the host of a URL, with its scheme unless it is `https`, and the rest of the URL. */
export function partsOfUrl(text: string): readonly [host: string, path: string] {
  const url = URL.parse(text);
  if (url === null) return ['', text];
  const scheme = url.protocol === 'https:' ? '' : `${url.protocol}//`;
  return [`${scheme}${url.host}`, `${url.pathname}${url.search}`];
}

/** The address of an endpoint: the path, after a less visible host. */
export function Address({ url }: { readonly url: string }) {
  const [host, path] = partsOfUrl(url);
  return (
    <span class="address" title={url}>
      <span class="quiet">{host}</span>
      {path}
    </span>
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

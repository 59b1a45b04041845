import { Empty, Link, Screen } from '@relay/ui';
import runbooks from './runbooks.md';

/** Returns the name of an alert in words, such as `Consumer lag`. */
export const alertTitle = (name: string): string => {
  const words = name
    .replace(/^Relay/, '')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** The section of an alert in the runbooks of the documentation. */
export function Runbook({ name }: { readonly name: string }) {
  const [, text] =
    runbooks
      .split(/^### /m)
      .map((each) => each.split(`${name}\n`))
      .find(([before]) => before === '') ?? [];
  return (
    <Screen title={alertTitle(name)}>
      {text === undefined ? (
        <Empty title="There is no such runbook">
          <Link to={[]} name="See the alerts" />
        </Empty>
      ) : (
        <div class="panel runbook">
          {text
            .trim()
            .split(/\n\n+/)
            .map((block) => (
              <Block key={block} text={block} />
            ))}
        </div>
      )}
    </Screen>
  );
}

/** A paragraph or a list of Markdown. */
function Block({ text }: { readonly text: string }) {
  const items = text.split(/^(?:\d+\.|-) /m);
  if (items.length === 1) return <p>{inline(text)}</p>;
  const List = text.startsWith('-') ? 'ul' : 'ol';
  return (
    <List>
      {items.slice(1).map((item) => (
        <li key={item}>{inline(item)}</li>
      ))}
    </List>
  );
}

/** Keeps links to other runbooks, and the text of other links. */
const inline = (text: string) =>
  text.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>;
    const [, words, target = ''] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
    if (words === undefined) return part;
    return target.startsWith('#') ? <Link to={['runbooks', words]} name={words} /> : words;
  });

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** A page of the documentation, by its path in the repository. */
export class Document {
  readonly text: string;

  constructor(readonly path: string) {
    this.text = readFileSync(join(root, path), 'utf8');
  }

  /** Its fenced blocks of a language, in their order. */
  blocks(language: string): string[] {
    const fences = this.text.matchAll(/^( *)```(\w*)(?: .*)?\n([\s\S]*?)^\1```$/gm);
    return [...fences].flatMap(([, , name, code]) => (name === language && code !== undefined ? [code] : []));
  }

  /** The only block of a language that holds these words. @throws Error unless there is exactly one */
  block(language: string, words: string): string {
    const [found, ...others] = this.blocks(language).filter((code) => code.includes(words));
    if (found === undefined || others.length > 0)
      throw new Error(`${this.path}: not one ${language} block with ${words}`);
    return found;
  }

  /** The first column of the tables whose head starts so, of the rows to be taken; a cell may name several. */
  column(head: string, take: (row: string) => boolean = () => true): string[] {
    const tables = this.text.matchAll(/(?:^\|.*\n)+/gm);
    return [...tables]
      .filter(([table]) => table.startsWith(`| ${head} `))
      .flatMap(([table]) => table.trimEnd().split('\n').slice(2))
      .filter(take)
      .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
  }

  /** Targets of its relative links. */
  get links(): string[] {
    const targets = this.text.matchAll(/\]\(([^)\s]+)\)/g);
    return [...targets].map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target));
  }

  /** The anchors that GitHub gives its headings. */
  get anchors(): string[] {
    const headings = this.text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm);
    return [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
  }
}

import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { shipped, sources, sourcesIn } from './spec-sources.js';

/** Faults that a machine can tell in a sentence. CONTRIBUTING.md has the rules behind them. */
const FAULTS: Readonly<Record<string, RegExp>> = {
  'begins with a fragment':
    /^(?:What|Who|Whoever|Whose|Those|Of|Such|And|But|Nor|Neither|None|Nobody|Not|Again|Also|Else|Where|Hence|So (?:many|much)|As (?:many|much|long)|One (?:that|of)|The (?:one|other|others|same|latter|former))\b/,
  'has a "would" without its condition': /^(?!.*\b(?:if|otherwise|unless|without|else)\b).*\bwould\b/i,
  'says "where" for "if" or for a noun': /(?:^|[,;(] ?)where\b/i,
};

interface Text {
  readonly path: string;
  readonly text: string;
}

const filesOf = (...patterns: string[]): Text[] =>
  globSync(patterns, { exclude: ['**/node_modules'] }).map((path) => ({ path, text: readFileSync(path, 'utf8') }));

/** Visits the nodes of a source in their order. */
function walk({ path, text }: Text, visit: (node: ts.Node, tree: ts.SourceFile) => void): void {
  const jsDocParsingMode = ts.JSDocParsingMode.ParseNone;
  const tree = ts.createSourceFile(path, text, { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode });
  const each = (node: ts.Node): void => {
    visit(node, tree);
    ts.forEachChild(node, each);
  };
  each(tree);
}

/** The comments of a source; lines that follow each other are one. */
function commentsIn(source: Text): readonly string[] {
  const { FirstLiteralToken, LastTemplateToken } = ts.SyntaxKind;
  let [code, end] = ['', 0];
  // A string, a pattern or a template may hold the signs of a comment.
  walk(source, (node, tree) => {
    if (node.kind < FirstLiteralToken || node.kind > LastTemplateToken) return;
    code += `${source.text.slice(end, node.getStart(tree))}''`;
    end = node.end;
  });
  const comments = `${code}${source.text.slice(end)}`.match(/\/\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*/g) ?? [];
  return comments.map((comment) => comment.replaceAll(/^\/\*\*?|\s*\*\/$|^\s*\*+ ?|^\s*\/\/ ?/gm, ''));
}

/** The comments of a file of the chart: lines of `#` that follow each other, and comments of a template. */
const chartComments = ({ text }: Text): readonly string[] =>
  [...text.matchAll(/(?:^[ \t]*#.*\n?)+|\{\{-?\s*\/\*[\s\S]*?\*\//gm)].map(([comment]) =>
    comment.replaceAll(/^[ \t]*#+(?: --)? ?|^\{\{-?\s*\/\*|\*\/$/gm, ''),
  );

/** The name that a call of a test begins with: `it` of `it.each(rows)('…')`. */
function nameOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression)
    ? nameOf(expression.expression)
    : '';
}

/** The texts of `describe`, `it` and `test` in a source, each as a sentence begins. */
function titlesIn(source: Text): readonly string[] {
  const titles: string[] = [];
  walk(source, (node, tree) => {
    if (!ts.isCallExpression(node) || !/^(?:describe|it|test)$/.test(nameOf(node.expression))) return;
    const [title] = node.arguments;
    if (title === undefined || (!ts.isStringLiteralLike(title) && !ts.isTemplateExpression(title))) return;
    const words = title.getText(tree).slice(1, -1);
    titles.push(`${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`);
  });
  return titles;
}

/** The paragraphs, list items and table cells of a page, without code, HTML, headings, quotations and addresses of links. */
const proseIn = ({ text }: Text): readonly string[] =>
  text
    .replaceAll(/^( *)(```|~~~)[\s\S]*?^\1\2.*$|<!--[\s\S]*?-->|^#.*$|^ *>.*$/gm, '\n\n')
    .replaceAll(/(`+)[\s\S]*?\1/g, '`x`')
    .replaceAll(/<[^>]+>|\*\*/g, '')
    .replaceAll(/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .split(/\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.) )|(?<!\\)\|/)
    .map((block) =>
      block
        .replace(/^\s*(?:[-*+]|\d+\.) /, '')
        .replaceAll(/"[^"]*"/g, '"x"')
        .trim(),
    )
    .filter((block) => /\s/.test(block));

const sentencesIn = (text: string): readonly string[] =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/@(?:param \S+|returns|throws) /g, '. ')
    .split(/(?<=[.:;!?])\s+(?=[A-Z`])/)
    .map((sentence) => sentence.trim());

const specs = [...sources, ...['lab', 'scripts', 'test'].flatMap(sourcesIn)].filter(
  (source) => !shipped.includes(source) && /\b(?:describe|it|test)\b/.test(source.text),
);

describe.each<[of: string, files: readonly Text[], textsIn: (file: Text) => readonly string[]]>([
  ['a comment', [...shipped, ...filesOf('{lab,scripts}/**/*.{cjs,mjs}')], commentsIn],
  ['a comment in the chart', filesOf('charts/**/*.{yaml,tpl}'), chartComments],
  ['a title of a spec', specs, titlesIn],
  ['a page', filesOf('*.md', '{charts,docs,lab,libs}/**/*.md'), proseIn],
])('a sentence of %s', (_of, files, textsIn) => {
  const sentences = files.flatMap((file) =>
    textsIn(file)
      .flatMap(sentencesIn)
      .map((sentence) => ({ path: file.path, sentence })),
  );

  it.each(Object.entries(FAULTS))('never %s', (_, pattern) => {
    expect(sentences.length).toBeGreaterThan(100);
    const found = sentences.filter(({ sentence }) => pattern.test(sentence));
    expect(found.map(({ path, sentence }) => `${path}: ${sentence}`)).toEqual([]);
  });
});

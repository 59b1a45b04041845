import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { projectOf, shipped, sources, sourcesIn, type Source } from './spec-sources.js';

/** Faults that a machine can tell in a sentence. CONTRIBUTING.md has the rules behind them. */
const FAULTS: Readonly<Record<string, RegExp>> = {
  'begins with a fragment':
    /^(?:What|Who|Whoever|Whose|Those|Of|Such|And|But|Nor|Neither|None|Nobody|Not|Again|Also|Else|Where|Hence|So (?:many|much)|As (?:many|much|long)|One (?:that|of)|The (?:one|other|others|same|latter|former))\b/,
  'has a "would" without its condition': /^(?!.*\b(?:if|otherwise|unless|without|else)\b).*\bwould\b/i,
  'says "where" for "if" or for a noun': /(?:^|[,;(] ?)where\b/i,
};

/** The comments of a source; lines that follow each other are one. */
function commentsIn(text: string): readonly string[] {
  const ranges = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node): void => {
    const found = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
    ];
    for (const range of found) ranges.set(range.pos, range);
    ts.forEachChild(node, visit);
  };
  const tree = ts.createSourceFile('source.tsx', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  visit(tree);
  visit(tree.endOfFileToken);
  const comments: { text: string; end: number }[] = [];
  for (const { pos, end, kind } of [...ranges.values()].toSorted((a, b) => a.pos - b.pos)) {
    const words = text
      .slice(pos, end)
      .replaceAll(/^\/\*\*?|\*\/$|^\s*\*+ ?|^\/\/ ?/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim();
    const last = comments.at(-1);
    const goesOn = kind === ts.SyntaxKind.SingleLineCommentTrivia && /^\n[ \t]*$/.test(text.slice(last?.end, pos));
    if (last !== undefined && goesOn) [last.text, last.end] = [`${last.text} ${words}`, end];
    else comments.push({ text: words, end });
  }
  return comments.map((comment) => comment.text);
}

const sentencesIn = (comment: string): readonly string[] =>
  comment
    .replaceAll(/@(?:param \S+|returns|throws) /g, '. ')
    .split(/(?<=[.:;!?])\s+(?=[A-Z`])/)
    .map((sentence) => sentence.trim());

describe('a sentence of a comment', () => {
  const sentences = shipped.flatMap(({ path, text }) =>
    commentsIn(text)
      .flatMap(sentencesIn)
      .map((sentence) => ({ path, sentence })),
  );

  it.each(Object.entries(FAULTS))('never %s', (_, pattern) => {
    const found = sentences.filter(({ sentence }) => pattern.test(sentence));
    expect(found.map(({ path, sentence }) => `${path}: ${sentence}`)).toEqual([]);
  });
});

/** The comments of a file of the chart: lines of `#` that follow each other, and comments of a template. */
const chartComments = (text: string): readonly string[] =>
  [...text.matchAll(/(?:^[ \t]*#.*\n?)+|\{\{-?\s*\/\*[\s\S]*?\*\//gm)].map(([comment]) =>
    comment
      .replaceAll(/^[ \t]*#+(?: --)? ?|^\{\{-?\s*\/\*|\*\/$/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

describe('a sentence of a comment in the chart', () => {
  const files = readdirSync('charts', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:yaml|tpl)$/.test(name))
    .map((name) => join('charts', name));
  const sentences = files.flatMap((path) =>
    chartComments(readFileSync(path, 'utf8'))
      .flatMap(sentencesIn)
      .map((sentence) => ({ path, sentence })),
  );

  it.each(Object.entries(FAULTS))('never %s', (_, pattern) => {
    expect(sentences.length).toBeGreaterThan(100);
    const found = sentences.filter(({ sentence }) => pattern.test(sentence));
    expect(found.map(({ path, sentence }) => `${path}: ${sentence}`)).toEqual([]);
  });
});

/** The name that a call of a test begins with: `it` of `it.each(rows)('…')`. */
function nameOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression)
    ? nameOf(expression.expression)
    : '';
}

/** The texts of `describe`, `it` and `test` in a source, each as a sentence begins. */
function titlesIn(text: string): readonly string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isCallExpression(node) || !/^(?:describe|it|test)$/.test(nameOf(node.expression))) return;
    const [title] = node.arguments;
    if (title === undefined || (!ts.isStringLiteralLike(title) && !ts.isTemplateExpression(title))) return;
    const words = title.getText().slice(1, -1);
    titles.push(`${words[0]?.toUpperCase() ?? ''}${words.slice(1)}`);
  };
  visit(ts.createSourceFile('source.tsx', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return titles;
}

/** Titles with a fault that each project still has. A number only falls. */
const FAULTY_TITLES: Readonly<Record<string, number>> = {
  'apps/ingress': 18,
  'apps/operations': 2,
  'apps/worker': 14,
  'libs/api': 6,
  'libs/backlog': 2,
  'libs/delivery': 2,
  'libs/deployment': 3,
  'libs/events': 4,
  'libs/kit': 10,
  'libs/log': 2,
  'libs/record': 4,
  'libs/registry': 3,
  'libs/stores': 4,
};

describe('a title of a spec', () => {
  const specs = [...sources, ...['test', 'scripts', 'lab'].flatMap(sourcesIn)].filter(({ text }) =>
    /\b(?:describe|it|test)\b/.test(text),
  );
  const faultsIn = ({ path, text }: Source): string[] =>
    titlesIn(text)
      .filter((title) => Object.values(FAULTS).some((pattern) => pattern.test(title)))
      .map((title) => `${path}: ${title}`);

  it.each([...new Set(specs.map(({ path }) => projectOf(path)))].toSorted())(
    'has no such fault in %s, but for those allowed',
    (project) => {
      const found = specs.filter(({ path }) => projectOf(path) === project).flatMap(faultsIn);
      expect(found.length > (FAULTY_TITLES[project] ?? 0) ? found : []).toEqual([]);
    },
  );
});

import ts from 'typescript';
import { shipped } from './spec-sources.js';

/** Faults that a machine can tell in a sentence of a comment. CONTRIBUTING.md has the rules behind them. */
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

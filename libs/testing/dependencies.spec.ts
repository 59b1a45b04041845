import ts from 'typescript';
import { shipped } from './spec-sources.js';

const MOST = 5;
const DRIVERS = ['Admin', 'Consumer', 'Kafka', 'Producer', 'Queue', 'Redis', 'Worker'];

const options = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
const trees = shipped.map(({ path, text }) => ts.createSourceFile(path, text, options, true));
const statements = trees.flatMap((tree) => [...tree.statements]);
const classes = new Set([...DRIVERS, ...statements.filter(ts.isClassDeclaration).map(({ name }) => name?.text ?? '')]);
/** Shapes that a constructor could be given as one object. */
const shapes = new Map(
  statements.flatMap((statement): [string, readonly ts.TypeElement[]][] => {
    if (ts.isInterfaceDeclaration(statement)) return [[statement.name.text, statement.members]];
    if (!ts.isTypeAliasDeclaration(statement) || !ts.isTypeLiteralNode(statement.type)) return [];
    return [[statement.name.text, statement.type.members]];
  }),
);

function namesIn(type: ts.TypeNode | undefined): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeReferenceNode(node)) names.push(node.typeName.getText());
    ts.forEachChild(node, visit);
  };
  if (type !== undefined) visit(type);
  return names;
}

/** Whether a shape has something to call: then it stands for a class. */
const does = (name: string): boolean =>
  (shapes.get(name) ?? []).some(
    (member) =>
      ts.isMethodSignature(member) ||
      (ts.isPropertySignature(member) && member.type?.kind === ts.SyntaxKind.FunctionType),
  );

/** A parameter is one dependency; an object that only carries others is as many as it carries. */
function dependenciesIn({ type }: ts.ParameterDeclaration): number {
  const names = namesIn(type);
  const shape =
    type !== undefined && ts.isTypeLiteralNode(type)
      ? type.members
      : names
          .filter((name) => !classes.has(name))
          .map((name) => shapes.get(name))
          .find((found) => found !== undefined);
  const carried = (shape ?? []).filter(
    (member) => ts.isPropertySignature(member) && namesIn(member.type).some((name) => classes.has(name) || does(name)),
  );
  return Math.max(1, carried.length);
}

const counts = trees.flatMap((tree) =>
  tree.statements.filter(ts.isClassDeclaration).flatMap((declared) =>
    declared.members.filter(ts.isConstructorDeclaration).map(({ parameters }) => ({
      name: `${tree.fileName} ${declared.name?.text ?? ''}`,
      count: parameters.reduce((sum, parameter) => sum + dependenciesIn(parameter), 0),
    })),
  ),
);

describe('constructors', () => {
  it('are found', () => {
    expect(counts.length).toBeGreaterThan(100);
  });

  it(`have at most ${MOST} dependencies, those in objects too`, () => {
    expect(counts.filter(({ count }) => count > MOST)).toEqual([]);
  });
});

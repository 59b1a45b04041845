import * as fc from 'fast-check';
import { parseJson } from './index.js';

type Tree =
  | { kind: 'number' | 'literal'; source: string }
  | { kind: 'string'; text: string }
  | { kind: 'array'; items: Tree[] }
  | { kind: 'object'; members: [string, Tree][] };

const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,5}$/)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,2}$/)),
  )
  .map((parts) => parts.join(''));
/** Any character; fast-check's own unit `binary` takes a second to set up. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff))
  .map((point) => Buffer.from(String.fromCodePoint(point)).toString());
const text = fc.oneof(fc.string({ unit: character, maxLength: 8 }), fc.constantFrom('__proto__', 'a', 'b', '"', '\\'));
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'tree' },
    number.map((source) => ({ kind: 'number' as const, source })),
    fc.constantFrom('true', 'false', 'null').map((source) => ({ kind: 'literal' as const, source })),
    text.map((value) => ({ kind: 'string' as const, text: value })),
    fc
      .array(tie('tree'), { maxLength: 4, depthIdentifier: 'tree' })
      .map((items) => ({ kind: 'array' as const, items })),
    fc
      .uniqueArray(fc.tuple(text, tie('tree')), { maxLength: 5, selector: ([key]) => key, depthIdentifier: 'tree' })
      .map((members) => ({ kind: 'object' as const, members })),
  ),
}));

/** Answers a number below the given one; a list of them decides how a tree is written. */
type Choose = (below: number) => number;
const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 40 }).map((list): Choose => {
  let next = 0;
  return (below) => (list[next++ % list.length] ?? 0) % below;
});

const space = (choose: Choose): string => ['', '', ' ', '\n\t', '\r\n  '][choose(5)] ?? '';

function writeString(value: string, choose: Choose): string {
  if (choose(2) === 0) return JSON.stringify(value);
  const units = Array.from({ length: value.length }, (_, at) => value.charCodeAt(at).toString(16).padStart(4, '0'));
  return `"${units.map((hex) => String.raw`\u${choose(2) === 0 ? hex : hex.toUpperCase()}`).join('')}"`;
}

function write(node: Tree, choose: Choose): string {
  const pad = (inner: string): string => `${space(choose)}${inner}${space(choose)}`;
  if (node.kind === 'string') return pad(writeString(node.text, choose));
  if (node.kind === 'array') return pad(`[${pad(node.items.map((item) => write(item, choose)).join(','))}]`);
  if (node.kind === 'object') {
    const members = node.members.map(([key, value]) => `${pad(writeString(key, choose))}:${write(value, choose)}`);
    const cut = choose(members.length + 1);
    const turned = [...members.slice(cut), ...members.slice(0, cut)];
    return pad(`{${pad((choose(2) === 0 ? turned : turned.toReversed()).join(','))}}`);
  }
  return pad(node.source);
}

function valueOf(node: Tree): unknown {
  if (node.kind === 'string') return node.text;
  if (node.kind === 'array') return node.items.map(valueOf);
  if (node.kind === 'object') return Object.fromEntries(node.members.map(([key, value]) => [key, valueOf(value)]));
  return JSON.parse(node.source);
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
function isAcceptedByPlatform(bytes: Uint8Array): boolean {
  try {
    JSON.parse(strictUtf8.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

const canonicalOf = (source: string): string | undefined => {
  const result = parseJson(Buffer.from(source));
  return result.ok ? result.canonical : undefined;
};

describe('parseJson, for any JSON text without duplicates', () => {
  it('agrees with JSON.parse, or with the written value where names have escapes (nodejs/node#63785)', () => {
    fc.assert(
      fc.property(tree, choices, (node, choose) => {
        const source = write(node, choose);
        const value: unknown = source.includes('\\') ? valueOf(node) : JSON.parse(source);
        const result = parseJson(Buffer.from(source));
        expect(result).toStrictEqual({ ok: true, value, canonical: expect.any(String) });
        expect(parseJson(Buffer.from(canonicalOf(source) ?? ''))).toStrictEqual(result);
      }),
      { numRuns: 2_000 },
    );
  });

  it('writes the same canonical text whatever the order of members, white space and escapes', () => {
    fc.assert(
      fc.property(tree, choices, choices, (node, one, other) => {
        const canonical = canonicalOf(write(node, one));
        expect(canonical).toBeDefined();
        expect(canonicalOf(write(node, other))).toBe(canonical);
        expect(canonicalOf(canonical ?? '')).toBe(canonical);
      }),
      { numRuns: 1_000 },
    );
  });

  it('writes another canonical text when only the text of a number differs', () => {
    fc.assert(
      fc.property(tree, choices, number, number, (node, choose, one, other) => {
        fc.pre(one !== other);
        const within = (source: string): string => `{"n":${source},"rest":${write(node, choose)}}`;
        expect(canonicalOf(within(one))).not.toBe(canonicalOf(within(other)));
      }),
    );
  });

  it('refuses a member that is there twice, however it is written', () => {
    fc.assert(
      fc.property(text, tree, choices, (key, node, choose) => {
        const member = (): string => `${writeString(key, choose)}:${write(node, choose)}`;
        expect(canonicalOf(`{${member()},"other key":0,${member()}}`)).toBeUndefined();
      }),
    );
  });
});

describe('parseJson, for any bytes', () => {
  const mutated = fc
    .tuple(tree, choices, fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.nat(255)), { minLength: 1, maxLength: 3 }))
    .map(([node, choose, edits]) => {
      const bytes = [...Buffer.from(write(node, choose))];
      for (const [place, removed, byte] of edits) {
        const interesting = [...Buffer.from('{}[]",:\\u0189d.-eE+tfn \n')][byte] ?? byte;
        bytes.splice(place % (bytes.length + 1), removed, interesting);
      }
      return Uint8Array.from(bytes);
    });

  it.each([
    ['garbage', fc.uint8Array({ maxLength: 200 })],
    ['mutated JSON', mutated],
  ])(
    'never throws on %s, accepts nothing that JSON.parse refuses, and refuses beyond that only what it says',
    (_, input) => {
      fc.assert(
        fc.property(input, (bytes) => {
          const result = parseJson(bytes);
          const verdict = result.ok ? 'accepted' : result.fault.detail;
          expect(verdict).toMatch(
            isAcceptedByPlatform(bytes)
              ? /^accepted$|(occurs twice|half of a surrogate pair|deeper than 32 levels) at byte \d+\.$/
              : / at byte \d+\.$/,
          );
        }),
        { numRuns: 3_000 },
      );
    },
  );
});

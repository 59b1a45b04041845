import { type JsonFault, jsonPointer } from '@relay/json';
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';

/** The operations app reads no larger body. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

export type Path = readonly string[];

interface FileFault {
  readonly line: number;
  readonly column: number;
  readonly detail: string;
}

/** Event types that a file defines. Only the operations app checks the definitions. */
export interface DefinedTypes {
  readonly eventTypes: Readonly<Record<string, unknown>>;
  /** Returns the path in the file of a path in the request. */
  readonly placeOf: (path: Path) => Path;
}

/** A YAML or JSON file whose values keep their lines. It collects the faults of the file. */
export class YamlFile {
  /** Undefined if a fault leaves the file without a value. */
  readonly value: unknown;
  readonly #document;
  readonly #lines = new LineCounter();
  readonly #faults = new Map<string, FileFault>();
  /** Offsets of syntax faults. The parser may read the text around them in another way than its author. */
  readonly #broken: number[] = [];

  constructor(text: string) {
    const options = { lineCounter: this.#lines, prettyErrors: false, stringKeys: true, logLevel: 'error' } as const;
    this.#document = parseDocument(text, options);
    const { errors, warnings } = this.#document;
    const deep = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
    for (const { code, message, pos } of deep === undefined ? [...errors, ...warnings] : [deep]) {
      if (code !== 'DUPLICATE_KEY') this.#broken.push(pos[0]);
      this.#add(pos[0], message);
    }
    try {
      if (deep === undefined && this.#isReadable()) this.value = this.#document.toJS();
    } catch (error) {
      // There are too many aliases or levels.
      this.#add(0, (error as Error).message);
    }
  }

  /** The faults, each once, in the order of the lines. */
  get faults(): readonly FileFault[] {
    return [...this.#faults.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  }

  /** Adds a fault of the value at a path. If the file has only a part of the path, the fault names the missing part. */
  fault(path: Path, detail: string, subject = ''): void {
    const { offset, depth } = this.#find(path);
    this.#add(offset, [subject, jsonPointer(path.slice(depth)), detail].filter(Boolean).join(' '));
  }

  /** Adds the faults that the operations app found in these types. */
  refuse({ placeOf }: DefinedTypes, faults: readonly JsonFault[]): void {
    for (const { pointer, detail } of faults) {
      const path = segmentsOf(pointer);
      const subject = path[1] === undefined ? '' : `${path[1]}:`;
      const { start, end } = this.#find(placeOf(path.slice(0, 2)));
      // A fault of a type with a syntax fault may be a consequence.
      if (subject === '' || !this.#broken.some((offset) => offset >= start && offset <= end))
        this.fault(
          placeOf(path),
          detail.startsWith(`${subject} `) ? detail.slice(subject.length + 1) : detail,
          subject,
        );
    }
  }

  /** Adds the faults that the parser ignores. Returns whether every alias has a value. */
  #isReadable(): boolean {
    const anchors = new Set<string>();
    let isReadable = true;
    visit(this.#document, (_key, node) => {
      if (!isNode(node)) return;
      if (isAlias(node) && !anchors.has(node.source)) {
        isReadable = false;
        this.#add(rangeOf(node)[0], `*${node.source} is the alias of no earlier value`);
      } else if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
      if (isScalar(node) && typeof node.value === 'number' && !Number.isFinite(node.value))
        this.#add(rangeOf(node)[0], `${node.source} is no number of JSON`);
    });
    return isReadable;
  }

  #add(offset: number, detail: string): void {
    const { line, col: column } = this.#lines.linePos(offset);
    this.#faults.set(`${line}:${column} ${detail}`, { line, column, detail });
  }

  /**
   * Follows a path for the `depth` that the file has of it.
   * @returns `offset` that of the value if it is a scalar, otherwise that of its key
   */
  #find(path: Path): { offset: number; depth: number; start: number; end: number } {
    let node: unknown = this.#document.contents;
    let [start, , end] = rangeOf(node);
    let [offset, depth] = [start, 0];
    for (const segment of path) {
      const at = isAlias(node) ? node.resolve(this.#document) : node;
      const items: readonly unknown[] = isMap(at) ? at.items.filter(({ key }) => nameOf(key) === segment) : [];
      const found = isSeq(at) ? at.items[Number(segment)] : items.at(-1);
      if (found === undefined) break;
      node = isPair(found) ? found.value : found;
      [start] = rangeOf(isPair(found) ? found.key : found);
      end = Math.max(start, rangeOf(node)[2]);
      offset = isScalar(node) && node.value !== null ? rangeOf(node)[0] : start;
      depth += 1;
    }
    return { offset, depth, start, end };
  }
}

const nameOf = (key: unknown): string | undefined => (isScalar(key) ? String(key.value) : undefined);
const rangeOf = (node: unknown): readonly [number, number, number] => (isNode(node) && node.range) || [0, 0, 0];

export const segmentsOf = (pointer: string): Path =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the types under `eventTypes`; undefined if the file has none, which is a fault. */
export function definitionsIn(file: YamlFile): DefinedTypes | undefined {
  if (file.value === undefined) return undefined;
  const { eventTypes, ...others } = isObject(file.value) ? file.value : {};
  for (const name of Object.keys(others)) file.fault([name], 'is unknown: the file has eventTypes only', name);
  if (isObject(eventTypes)) return { eventTypes, placeOf: (path) => path };
  file.fault(['eventTypes'], 'must be an object with definitions by name');
  return undefined;
}

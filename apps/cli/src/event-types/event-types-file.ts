import { type JsonFault, jsonPointer } from '@relay/json';
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';

/** The operations app rejects larger request bodies. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;

export type Path = readonly string[];

interface FileFault {
  readonly line: number;
  readonly column: number;
  readonly detail: string;
}

/** The event types that a file defines. This command does not check the definitions; the operations app does. */
export interface DefinedTypes {
  readonly eventTypes: Readonly<Record<string, unknown>>;
  /** Translates a path in the request body into the path in the file that the value came from. */
  readonly placeOf: (path: Path) => Path;
}

/** A parsed YAML or JSON file. It collects the faults that are found in the file, each with its line and column. */
export class YamlFile {
  /** The content of the file; undefined if a fault makes the file unreadable. */
  readonly value: unknown;
  readonly #document;
  readonly #lines = new LineCounter();
  readonly #faults = new Map<string, FileFault>();
  /** Offsets of syntax faults. Near a syntax fault, the parser may read the text differently than its author meant it. */
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
      // The file has too many aliases or nesting levels.
      this.#add(0, (error as Error).message);
    }
  }

  /** The faults without duplicates, in the order of their lines. */
  get faults(): readonly FileFault[] {
    return [...this.#faults.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
  }

  /**
   * Adds a fault of the value at a path. If the file contains only the first segments, the fault names the missing segments.
   */
  fault(path: Path, detail: string, subject = ''): void {
    const { offset, depth } = this.#find(path);
    this.#add(offset, [subject, jsonPointer(path.slice(depth)), detail].filter(Boolean).join(' '));
  }

  /** Adds the faults that the operations app found in the types of this file. */
  refuse({ placeOf }: DefinedTypes, faults: readonly JsonFault[]): void {
    for (const { pointer, detail } of faults) {
      const path = segmentsOf(pointer);
      const subject = path[1] === undefined ? '' : `${path[1]}:`;
      const { start, end } = this.#find(placeOf(path.slice(0, 2)));
      // A fault is left out if its type contains a syntax fault, because it may only be a consequence of the syntax fault.
      if (subject === '' || !this.#broken.some((offset) => offset >= start && offset <= end))
        this.fault(
          placeOf(path),
          detail.startsWith(`${subject} `) ? detail.slice(subject.length + 1) : detail,
          subject,
        );
    }
  }

  /** Adds the faults that the parser does not report. Returns whether every alias has a value. */
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
   * Follows a path as far as the file contains it.
   * @returns `depth`: the number of segments that were found. `offset`: the position of the value if it is a scalar,
   * otherwise the position of its key. `start` and `end`: the range of key and value
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

/** Returns the types under `eventTypes`. If the file has no `eventTypes`, adds a fault and returns undefined. */
export function definitionsIn(file: YamlFile): DefinedTypes | undefined {
  if (file.value === undefined) return undefined;
  const { eventTypes, ...others } = isObject(file.value) ? file.value : {};
  for (const name of Object.keys(others)) file.fault([name], 'is unknown: the file has eventTypes only', name);
  if (isObject(eventTypes)) return { eventTypes, placeOf: (path) => path };
  file.fault(['eventTypes'], 'must be an object with definitions by name');
  return undefined;
}

/** A fault of a text, at one of its lines, which count from 1. */
export interface LineFault {
  readonly line: number;
  readonly detail: string;
}

/** Result of reading a typed text as JSON. */
export type JsonText =
  | { readonly kind: 'empty' }
  | { readonly kind: 'faulty'; readonly fault: LineFault }
  | {
      readonly kind: 'read';
      readonly value: unknown;
      /** Returns the line of a member by its JSON Pointer, or that of the member above it that is there. */
      readonly lineOf: (pointer: string) => number;
    };

/** Reads a JSON text, and finds the line of each member or of the first fault. A name twice is a fault. Never throws. */
export function readJson(text: string): JsonText {
  if (text.trim() === '') return { kind: 'empty' };
  const reader = new LineReader(text);
  try {
    const lines = reader.read();
    return { kind: 'read', value: JSON.parse(text), lineOf: (pointer) => lineIn(lines, pointer) };
  } catch (error) {
    const detail = error instanceof FaultyText ? error.message : 'The text is no JSON.';
    return { kind: 'faulty', fault: { line: reader.line, detail } };
  }
}

function lineIn(lines: ReadonlyMap<string, number>, pointer: string): number {
  const known = lines.get(pointer);
  return known ?? (pointer === '' ? 1 : lineIn(lines, pointer.slice(0, pointer.lastIndexOf('/'))));
}

class FaultyText extends Error {}

/** The API takes 32 levels, and many thousands exhaust the stack. */
const MAX_DEPTH = 100;
const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/uy;
const WORD = /"?[^\s{}[\],:"]*/y;

/** Finds the line of each member in one pass over the tokens. */
class LineReader {
  readonly #lines = new Map<string, number>();
  #at = 0;
  /** Line of the token that is looked at. */
  line = 1;

  constructor(private readonly text: string) {}

  read(): ReadonlyMap<string, number> {
    this.#value('', 0);
    if (this.#token !== '' || this.#at < this.text.length) throw this.#expected('The end of the text');
    return this.#lines;
  }

  /** The next token, or '' at the end and for characters that begin none. */
  get #token(): string {
    const space = matchAt(SPACE, this.text, this.#at);
    this.#at += space.length;
    this.line += space.split('\n').length - 1;
    return matchAt(TOKEN, this.text, this.#at);
  }

  #take(token: string): string {
    this.#at += token.length;
    return token;
  }

  #value(pointer: string, depth: number): void {
    const token = this.#token;
    if (!this.#lines.has(pointer)) this.#lines.set(pointer, this.line);
    if (depth > MAX_DEPTH) throw new FaultyText('The text is nested too deep.');
    if (token === '{') this.#members(pointer, depth);
    else if (token === '[') this.#items(pointer, depth);
    else if (/^["\d\-tfn]/.test(token)) this.#take(token);
    else throw this.#expected('A value');
  }

  #members(pointer: string, depth: number): void {
    this.#each('{', '}', () => {
      const token = this.#token;
      if (!token.startsWith('"')) throw this.#expected('A name in double quotes');
      const name = String(JSON.parse(token));
      const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (this.#lines.has(at)) throw new FaultyText(`${name} is here twice.`);
      this.#lines.set(at, this.line);
      this.#take(token);
      if (this.#token !== ':') throw this.#expected('A colon');
      this.#take(':');
      this.#value(at, depth + 1);
    });
  }

  #items(pointer: string, depth: number): void {
    this.#each('[', ']', (index) => this.#value(`${pointer}/${index}`, depth + 1));
  }

  /** Reads the parts between brackets, which commas separate. */
  #each(open: string, close: string, part: (index: number) => void): void {
    this.#take(open);
    if (this.#token === close) {
      this.#take(close);
      return;
    }
    for (let index = 0; ; index += 1) {
      part(index);
      const token = this.#token;
      if (token === close) {
        this.#take(close);
        return;
      }
      if (token !== ',') throw this.#expected(`A comma or ${close}`);
      const { line } = this;
      this.#take(token);
      if (this.#token === close) {
        this.line = line;
        throw new FaultyText('Nothing follows this comma: remove it.');
      }
    }
  }

  #expected(what: string): FaultyText {
    const token = this.#token;
    const shown = (token || matchAt(WORD, this.text, this.#at) || this.text.charAt(this.#at)).slice(0, 30);
    if (shown === '') return new FaultyText(`${what} is expected at the end.`);
    if (token === '' && shown.startsWith('"'))
      return new FaultyText(`The text ${shown} has no end, or a wrong escape.`);
    return new FaultyText(`${what} is expected ${token === '' ? 'instead of' : 'before'} ${shown}`);
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

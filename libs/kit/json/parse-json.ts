import { isUtf8 } from 'node:buffer';

/** Deepest nesting that is accepted by default. A scalar has depth 0; `[]` and `{}` have depth 1. */
const DEFAULT_MAX_DEPTH = 32;
/** Highest value of `maxDepth`. The reader recurses once for each level, so greater values could exhaust the stack. */
const HIGHEST_MAX_DEPTH = 500;

interface JsonLimits {
  /** Deepest nesting that is accepted. @default 32 @maximum 500 */
  maxDepth?: number;
}

/**
 * Why a text is refused. `pointer` is an RFC 6901 pointer to the member, '' if the member is not known. `detail` is a
 * sentence that contains the byte offset.
 */
export interface JsonFault {
  pointer: string;
  detail: string;
}

export type JsonResult = { ok: true; value: unknown; canonical: string } | { ok: false; fault: JsonFault };

/**
 * Reads one JSON text strictly, and never throws. `canonical` keeps everything exactly, above all numbers. `value` is meant
 * for validation: its numbers are doubles. A number beyond the range of a double becomes the largest finite double, because
 * Infinity is not a JSON value (RFC 8259 section 6 allows a reader to limit the range).
 */
export function parseJson(bytes: Uint8Array, limits: JsonLimits = {}): JsonResult {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString();
  if (!isUtf8(buffer)) return refused(`The text is not valid UTF-8 at byte ${firstInvalidByte(buffer, text)}.`);
  if (text.startsWith('\ufeff')) return refused('A byte order mark is not allowed (RFC 8259 section 8.1) at byte 0.');
  const reader = new CanonicalReader(text, Math.min(limits.maxDepth ?? DEFAULT_MAX_DEPTH, HIGHEST_MAX_DEPTH));
  const canonical = reader.read();
  if (canonical === undefined) return { ok: false, fault: reader.fault };
  return { ok: true, value: reader.built, canonical };
}

function refused(detail: string): JsonResult {
  return { ok: false, fault: { pointer: '', detail } };
}

/**
 * Returns the index of the first invalid byte. Decoding replaces invalid bytes by U+FFFD, so this is the position of the
 * first U+FFFD that the bytes themselves do not contain.
 */
function firstInvalidByte(bytes: Buffer, decoded: string): number {
  let byte = 0;
  let from = 0;
  for (let at = decoded.indexOf('\ufffd'); at >= 0; at = decoded.indexOf('\ufffd', from)) {
    byte += Buffer.byteLength(decoded.slice(from, at));
    if (bytes.readUIntBE(byte, Math.min(3, bytes.length - byte)) !== 0xefbfbd) break;
    byte += 3;
    from = at + 1;
  }
  return byte;
}

// RFC 8259 sections 6 and 7. The patterns are sticky, so they match only at the reader's position. A surrogate is accepted
// only as half of a complete pair.
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE =
  /\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[\da-fA-F]{4}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})/y;
const SURROGATE = /\\u[dD][89a-fA-F][\da-fA-F]{2}/y;
const LITERALS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const;

// Copies of the constants in json-bytes.ts. If they were imported, reading an envelope of 330 bytes (5.7 µs) would take 0.4
// µs longer.
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

/**
 * Checks one text by RFC 8259, builds its value and writes its canonical text in one pass. In the canonical text, members
 * are sorted by the code units of their names, white space is removed, strings have as few escapes as possible, and numbers
 * stay as they are written.
 *
 * Each step returns the canonical text of what it has read, and stores the value in `built`. After a fault it returns
 * undefined, and the steps around it only add their part to the path of the fault.
 *
 * JSON.parse is used only for single strings, never for objects. Since V8 12.8, if the name of a member is written with an
 * escape, JSON.parse may give the member the name of another member that it parsed earlier, even in another text
 * (nodejs/node#63785; Node 24 and 26 are affected).
 */
class CanonicalReader {
  /** The value that was read last. */
  built: unknown;
  private decoded = '';
  private readonly text: string;
  private readonly maxDepth: number;
  private readonly path: string[] = [];
  private detail = '';
  private at = 0;

  constructor(text: string, maxDepth: number) {
    this.text = text;
    this.maxDepth = maxDepth;
  }

  /** Why `read` returned undefined. */
  get fault(): JsonFault {
    return { pointer: jsonPointer(this.path), detail: this.detail };
  }

  read(): string | undefined {
    this.next();
    const canonical = this.value(0);
    if (canonical === undefined) return undefined;
    return Number.isNaN(this.next()) ? canonical : this.unexpected('the end of the text');
  }

  private value(depth: number): string | undefined {
    const code = this.text.charCodeAt(this.at);
    if (code === QUOTE) {
      const canonical = this.string();
      this.built = this.decoded;
      return canonical;
    }
    if (code === BRACE) return this.object(depth + 1);
    if (code === BRACKET) return this.array(depth + 1);
    return this.number() ?? this.literal() ?? this.unexpected('a JSON value');
  }

  private object(depth: number): string | undefined {
    if (depth > this.maxDepth) return this.tooDeep();
    const target: Record<string, unknown> = {};
    const members = new Map<string, string>();
    let last = '';
    let isSorted = true;
    this.at += 1;
    if (this.next() === BRACE_END) return this.closing('{}', target);
    for (;;) {
      const start = this.at;
      if (this.next() !== QUOTE) return this.unexpected('a member name in double quotes');
      const name = this.string();
      if (name === undefined) return undefined;
      const key = this.decoded;
      if (members.has(key)) return this.within(key, this.fail(`The member ${excerpt(key)} occurs twice`, start));
      if (this.next() !== COLON) return this.within(key, this.unexpected('a colon'));
      this.at += 1;
      this.next();
      const value = this.value(depth);
      if (value === undefined) return this.within(key);
      members.set(key, `${name}:${value}`);
      define(target, key, this.built);
      isSorted &&= members.size === 1 || last < key;
      last = key;
      const code = this.next();
      if (code === BRACE_END) return this.closing(`{${joined(members, isSorted)}}`, target);
      if (code !== COMMA) return this.unexpected('a comma or a closing brace');
      this.at += 1;
      this.next();
    }
  }

  private array(depth: number): string | undefined {
    if (depth > this.maxDepth) return this.tooDeep();
    const target: unknown[] = [];
    let canonical = '[';
    this.at += 1;
    if (this.next() === BRACKET_END) return this.closing('[]', target);
    for (let index = 0; ; index += 1) {
      const item = this.value(depth);
      if (item === undefined) return this.within(String(index));
      canonical += item;
      target.push(this.built);
      const code = this.next();
      if (code === BRACKET_END) return this.closing(`${canonical}]`, target);
      if (code !== COMMA) return this.unexpected('a comma or a closing bracket');
      canonical += ',';
      this.at += 1;
      this.next();
    }
  }

  private string(): string | undefined {
    const { text } = this;
    const start = this.at;
    let hasEscape = false;
    for (let at = start + 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.at = at + 1;
        const source = text.slice(start, this.at);
        this.decoded = hasEscape ? String(JSON.parse(source)) : source.slice(1, -1);
        // JSON.stringify writes as few escapes as possible. A text without escapes already has that form.
        return hasEscape ? JSON.stringify(this.decoded) : source;
      }
      if (code === BACKSLASH) {
        ESCAPE.lastIndex = at;
        if (!ESCAPE.test(text)) return this.wrongEscape(at);
        hasEscape = true;
        at = ESCAPE.lastIndex - 1;
      } else if (code < SPACE) {
        return this.fail('A string holds a control character that is not escaped', at);
      }
    }
    return this.fail('The text ends inside a string that starts', start);
  }

  private number(): string | undefined {
    NUMBER.lastIndex = this.at;
    if (!NUMBER.test(this.text)) return undefined;
    const source = this.text.slice(this.at, NUMBER.lastIndex);
    this.at = NUMBER.lastIndex;
    this.built = Math.min(Math.max(Number(source), -Number.MAX_VALUE), Number.MAX_VALUE);
    return source;
  }

  private literal(): string | undefined {
    for (const [word, value] of LITERALS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      this.built = value;
      return word;
    }
    return undefined;
  }

  /** Skips white space and returns the next code unit; NaN at the end of the text. */
  private next(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.at += 1;
    }
  }

  private closing(canonical: string, target: object): string {
    this.at += 1;
    this.built = target;
    return canonical;
  }

  private tooDeep(): undefined {
    return this.fail(`The nesting is deeper than ${this.maxDepth} levels`, this.at);
  }

  private wrongEscape(at: number): undefined {
    SURROGATE.lastIndex = at;
    const rule = SURROGATE.test(this.text) ? 'half of a surrogate pair' : 'an escape that JSON does not have';
    return this.fail(`A string holds ${rule}`, at);
  }

  private unexpected(wanted: string): undefined {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return this.fail(`The text ends where ${wanted} should be`, this.at);
    const printable = code > SPACE && code < 0x7f;
    const found = printable ? String.fromCodePoint(code) : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    return this.fail(`Found ${found} where ${wanted} should be`, this.at);
  }

  private fail(sentence: string, at: number): undefined {
    this.detail = `${sentence} at byte ${Buffer.byteLength(this.text.slice(0, at))}.`;
  }

  private within(segment: string, _fault?: undefined): undefined {
    this.path.unshift(segment);
  }
}

function define(target: Record<string, unknown>, key: string, value: unknown): void {
  // A plain assignment to `__proto__` calls the setter of Object.prototype instead of adding a property.
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

function joined(members: ReadonlyMap<string, string>, isSorted: boolean): string {
  if (isSorted) return [...members.values()].join(',');
  return [...members.keys()]
    .toSorted()
    .map((key) => members.get(key))
    .join(',');
}

const MAX_SEGMENT = 100;
const MAX_EXCERPT = 40;

/**
 * Returns the RFC 6901 pointer to a member. A name longer than 100 characters is untrusted input that should not be repeated
 * in full, so the pointer then ends at the parent of that member.
 */
export function jsonPointer(path: readonly PropertyKey[]): string {
  let pointer = '';
  for (const segment of path) {
    const name = String(segment);
    if (name.length > MAX_SEGMENT) break;
    pointer += `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return pointer;
}

/** Returns at most 40 characters of untrusted text, in quotes, with control characters and lone surrogates escaped. */
export function excerpt(text: string): string {
  return text.length > MAX_EXCERPT ? `${JSON.stringify(text.slice(0, MAX_EXCERPT))}…` : JSON.stringify(text);
}

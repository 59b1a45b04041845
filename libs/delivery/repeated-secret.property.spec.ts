import * as fc from 'fast-check';
import { KEPT_BYTES, shownAnswer } from './endpoint-answer.js';
import { secretFinder } from './repeated-secret.js';

/** Texts are bytes in the making: one in a character. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex');
const inLines = (text: string, length: number): string => text.replace(new RegExp(`.{${length}}`, 'g'), '$&\r\n');
const each = (text: string, encode: (code: number, char: string) => string): string =>
  Array.from(text, (char) => encode(char.charCodeAt(0), char)).join('');
const digits = (code: number, length: number): string => code.toString(16).padStart(length, '0');
const percent = (text: string): string => text.replaceAll(/[^\w.~-]/g, (char) => `%${digits(char.charCodeAt(0), 2)}`);
const named: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  '/': 'sol',
  '+': 'plus',
};

const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  JSON: (text) => JSON.stringify(text),
  'JSON with escaped slashes': (text) => JSON.stringify(text).replaceAll('/', String.raw`\/`),
  'JSON in ASCII': (text) => each(text, (code) => String.raw`\u` + digits(code, 4)),
  JavaScript: (text) => each(text, (code) => String.raw`\x` + digits(code, 2)),
  octal: (text) => each(text, (code) => `\\${code.toString(8).padStart(3, '0')}`),
  percent,
  'percent of each byte': (text) => each(text, (code) => `%${digits(code, 2)}`),
  'a form': (text) =>
    percent(text)
      .replaceAll('%20', '+')
      .replaceAll(/%../g, (byte) => byte.toUpperCase()),
  entities: (text) => each(text, (_, char) => (named[char] === undefined ? char : `&${named[char]};`)),
  'decimal entities': (text) => each(text, (code) => `&#${code};`),
  'hexadecimal entities': (text) => each(text, (code) => `&#X${digits(code, 4)};`),
  base64: base64,
  'base64 in lines': (text) => inLines(base64(text), 13),
  base64url: (text) => Buffer.from(text, 'latin1').toString('base64url'),
  hex: hex,
  'hex in mixed case with spaces': (text) =>
    hex(text).replaceAll(/../g, (byte) => ` ${byte.toUpperCase()[0]}${byte[1]}`),
  'hex with prefixes': (text) => hex(text).replaceAll(/../g, ', 0x$&'),
  'JavaScript with braces': (text) => each(text, (code) => String.raw`\x{` + `${code.toString(16)}}`),
  numbers: (text) => JSON.stringify([...Buffer.from(text, 'latin1')]),
  'numbers with their places': (text) => JSON.stringify(new Uint8Array(Buffer.from(text, 'latin1'))),
  'numbers with a sign': (text) => JSON.stringify([...new Int8Array(Buffer.from(text, 'latin1'))]),
  'UTF-8 once more': bytesOf,
  'UTF-16': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
};

const printable = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  minLength: 2,
  maxLength: 40,
});
const latin = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0x17f })
    .filter((code) => code < 0x7f || code > 0x9f)
    .map((code) => String.fromCodePoint(code)),
  minLength: 2,
  maxLength: 40,
});
const secrets = fc.oneof(printable, latin);
const formsOf = (secret: string): string[] => [secret, bytesOf(secret)];
const encoding = fc.constantFrom(...Object.keys(ENCODINGS));
const filler = fc.string({ unit: fc.constantFrom(...'abcxyz019 ="\',.:;-_{}<>\n'.split('')), maxLength: 12 });
/** Around the secret, and around what it was encoded to. */
const around = fc.array(fc.tuple(filler, filler), { minLength: 3, maxLength: 3 });

describe('a secret in an answer', () => {
  it('is found in each encoding, and in each within each', () => {
    fc.assert(
      fc.property(secrets, fc.array(encoding, { maxLength: 2 }), around, (secret, names, fillers) => {
        const finds = secretFinder(formsOf(secret));
        for (const form of formsOf(secret).filter((one) => !/[^\0-\xff]/.test(one))) {
          let text = `${fillers[0]?.[0]}${form}${fillers[0]?.[1]}`;
          names.forEach((name, n) => {
            text = `${fillers[n + 1]?.[0]}${ENCODINGS[name]?.(text)}${fillers[n + 1]?.[1]}`;
          });
          expect([text, finds(text)]).toEqual([text, true]);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('is not shown in part where the text ends, or only its beginning was kept', () => {
    const place = fc.integer({ min: 0, max: 1_023 });
    fc.assert(
      fc.property(printable, fc.array(encoding, { maxLength: 2 }), place, (apiKey, names, before) => {
        const encoded = names.reduce((text, name) => ENCODINGS[name]?.(text) ?? '', apiKey);
        const body = `${'~'.repeat(before)}${encoded}${'~'.repeat(KEPT_BYTES)}`;
        const answer = { contentType: 'text/plain', head: 'HTTP/1.1 500 x' };
        const shown = (bytes: Buffer) =>
          shownAnswer({ ...answer, bytes: () => bytes }, { kind: 'apiKey', apiKey }, []).text;
        const kept = Buffer.from(body, 'latin1').subarray(0, KEPT_BYTES);
        // A text with control characters is not shown at all.
        expect(['left out: it repeats a credential', undefined]).toContain(shown(kept));
        for (const end of [8, 9, apiKey.length].filter((one) => one <= apiKey.length))
          expect(shown(Buffer.from(body.slice(0, before) + apiKey.slice(0, end)))).toMatch(/^left out/);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not found in a text that has none', () => {
    const id = fc.uuid();
    fc.assert(
      fc.property(id, fc.string({ maxLength: 500 }), encoding, (secret, text, name) => {
        expect(secretFinder([secret])(ENCODINGS[name]?.(bytesOf(text)) ?? '')).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

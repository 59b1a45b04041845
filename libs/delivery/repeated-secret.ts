/**
 * A text contains a secret if it contains this many successive bytes of it. A shorter secret must be contained as a whole.
 */
export const PIECE = 8;
/** An encoding within another encoding is decoded, but a third level is not. */
const ROUNDS = 2;

/**
 * Decodes a text. Each character of a text stands for one byte, or for a UTF-16 unit if the encoding uses these.
 * @param least length in characters of the shortest excerpt of the secret that the caller searches for. The decoder may omit
 * decoded text that is shorter.
 */
type Decoder = (text: string, least: number) => string;

const DECODERS: readonly Decoder[] = [
  utf8,
  (text) => text.replaceAll('\0', ''), // UTF-16 has a NUL next to each ASCII letter
  entities,
  (text) => text.replace(/%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi, (_, unit, byte) => charOf(unit ?? byte)),
  escapes,
  ...[0, 1, 2, 3].map(base64),
  ...[0, 1].map(hex),
  decimals,
];

/**
 * Returns a function that finds secrets in the response of an endpoint. An endpoint may repeat the request in any encoding
 * of its framework, so each text is searched as it is, decoded, and decoded twice.
 * @param secrets each as characters, or as bytes with one byte per character
 * @returns a function that returns whether a text, with one byte per character, contains a piece of a secret
 */
export function secretFinder(secrets: readonly string[]): (text: string) => boolean {
  const whole: string[] = [];
  const pieces = new Set<string>();
  const signs = new Uint8Array(SIGNS); // makes the look-up in `pieces` unnecessary at most positions
  for (const form of new Set(secrets.map(alike))) {
    if (form.length < PIECE && form !== '') whole.push(form);
    for (let at = 0; at + PIECE <= form.length; at += 1) {
      pieces.add(form.slice(at, at + PIECE));
      signs[signAt(form, at)] = 1;
    }
  }
  const stands = (text: string): boolean => {
    const form = alike(text);
    for (let at = 0; at + PIECE <= form.length; at += 1)
      if (signs[signAt(form, at)] === 1 && pieces.has(form.slice(at, at + PIECE))) return true;
    return whole.some((one) => form.includes(one));
  };
  const least = Math.min(PIECE, ...whole.map(({ length }) => length));
  return (text) => {
    const seen = new Set([text]);
    let texts = [text];
    for (let round = 0; ; round += 1) {
      if (texts.some(stands)) return true;
      if (round === ROUNDS) return false;
      texts = texts
        .flatMap((one) => DECODERS.map((decode) => decode(one, least)))
        .filter((one) => !seen.has(one) && seen.add(one));
    }
  };
}

const SIGNS = 1 << 16;
/** Returns a hash of three characters of the piece that begins at `at`. */
const signAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 3)) * 31 + text.charCodeAt(at + 7)) % SIGNS;

/** Makes texts comparable. Case is ignored, and so is the plus sign that stands for a space in a form. */
const alike = (text: string): string => text.replaceAll('+', ' ').toLowerCase();

const charOf = (digits: string, radix = 16): string => {
  const code = Number.parseInt(digits, radix);
  return code > 0x10ffff ? '' : String.fromCodePoint(code);
};

/** Decodes text in UTF-8 that was read as Latin-1 and encoded in UTF-8 a second time. */
function utf8(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}

/** HTML's names of characters. Each row begins with the code point of its first name. Case is ignored. */
const NAMES: readonly (readonly [from: number, names: string])[] = [
  [0x21, 'excl quot num dollar percnt amp apos lpar rpar ast plus comma - period sol'],
  [0x3a, 'colon semi lt equals gt quest commat'],
  [0x5b, 'lsqb bsol rsqb hat lowbar grave'],
  [0x5b, 'lbrack - rbrack'],
  [0x7b, 'lcub verbar rcub'],
  [0x7b, 'lbrace vert rbrace'],
  [0xa0, 'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr'],
  [0xb0, 'deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest'],
  [0xdf, 'szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml'],
  [0xf0, 'eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'],
];
const NAMED: ReadonlyMap<string, string> = new Map(
  NAMES.flatMap(([from, names]) => names.split(' ').map((name, n) => [name, String.fromCodePoint(from + n)])),
);

function entities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,8}));?/gi, (all, decimal, digits, name) => {
    if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? all;
    return decimal === undefined ? charOf(digits) : charOf(decimal, 10);
  });
}

/** Characters that a letter after a backslash stands for. Any other character after a backslash stands for itself. */
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Decodes the escapes of JSON, JavaScript and C. */
function escapes(text: string): string {
  return text.replace(
    /\\(?:[ux]\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([0-3][0-7]{2})|(.))/gis,
    (_, braced, unit, byte, octal, char) =>
      octal === undefined
        ? char === undefined
          ? charOf(braced ?? unit ?? byte)
          : (CONTROLS[char] ?? char)
        : charOf(octal, 8),
  );
}

/**
 * Decodes both alphabets of base64, with or without line breaks. Other base64 letters may stand right before the secret, so
 * the decoder is used with 0 to 3 of them skipped.
 */
function base64(skipped: number): Decoder {
  return (text, least) =>
    runsOf(text.replace(/\s+/g, ''), /[\w+/-]{2,}/g, (least * 8) / 6, (run) =>
      Buffer.from(run.slice(skipped), 'base64').toString('latin1'),
    );
}

/** Decodes hex, also with separators and prefixes, such as `6b 65`, `6b:65`, `0x6b, 0x65` and `\x6b\x65`. */
function hex(skipped: number): Decoder {
  return (text, least) =>
    runsOf(text, /[0-9a-f](?:[^0-9a-z]{0,8}(?:0?x)?[0-9a-f])+/gi, least * 2, (run) =>
      Buffer.from(run.replace(/0?x|[^0-9a-f]/gi, '').slice(skipped), 'hex').toString('latin1'),
    );
}

/**
 * Decodes bytes that are written as decimal numbers. For example, JSON.stringify writes a `Buffer` as such numbers, and a
 * `Uint8Array` as numbers each after its index. Numbers from Java may be negative.
 */
function decimals(text: string, least: number): string {
  return runsOf(text.replaceAll(/"\d+":/g, ''), /\d{1,3}(?:[\s,;]{1,20}-?\d{1,3})+/g, least * 2 - 1, (run) =>
    String.fromCharCode(...run.split(/[\s,;]+/).map((number) => Number(number) & 0xff)),
  );
}

/** @param least minimum characters of a match that can contain a secret; shorter matches are left out */
const runsOf = (text: string, pattern: RegExp, least: number, decode: (run: string) => string): string =>
  (text.match(pattern) ?? []).flatMap((run) => (run.length < least ? [] : [decode(run)])).join('\n');

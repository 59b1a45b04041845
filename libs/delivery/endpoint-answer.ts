import { PIECE, secretFinder } from './repeated-secret.js';
import type { Credential } from './request.js';

/** The part of an endpoint's answer that the relay keeps. */
export interface EndpointAnswer {
  readonly contentType: string | undefined;
  /** Status line and header fields as received, each byte one character. */
  readonly head: string;
  /** The beginning of the body. */
  readonly bytes: () => Buffer;
}

/** The part of an answer that may be shown. */
export interface ShownAnswer {
  /** The beginning of the body; undefined if it is empty or no text. */
  readonly text: string | undefined;
  /** Chosen header fields by their names in lower case; undefined if it has none of them. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Maximum of characters of the shown text, and of all header fields together. */
const MAX_CHARACTERS = 1_024;
/** Maximum of characters of a header field's value. */
const MAX_VALUE = 256;
/** Bytes read beyond the shown text, so that a secret that begins in it is recognised in any encoding. */
const BEHIND = 1_024;
/** Bytes of a body from which its text is made: a character takes at most three bytes of UTF-8. */
export const KEPT_BYTES = 3 * MAX_CHARACTERS + BEHIND;
const LEFT_OUT = 'left out: it repeats a credential';
const IS_TEXT = /^\s*(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i;
const CONTROL = /[^\P{Cc}\t\r\n]/u;

/**
 * Returns an answer as it may be shown: a text of at most 1,024 characters, and header fields of 256 each and 1,024 together. An
 * endpoint may repeat the request in its answer. A text or field that has a piece of a secret of its webhook is replaced by a
 * remark.
 */
export function shownAnswer(
  { contentType, head, bytes }: EndpointAnswer,
  credential: Credential,
  signingSecrets: readonly string[],
): ShownAnswer {
  const secret = secretOf(credential);
  const keys = [...signingSecrets, ...(credential.kind === 'apiKey' ? [secret] : [])].flatMap(keysOf);
  const repeats = secretFinder([...formsOf(secret), ...signingSecrets, ...keys]);
  const fields = chosenFields(head).map(([name, value]) => [name, value.slice(0, MAX_VALUE + BEHIND)] as const);
  const isText = contentType === undefined || IS_TEXT.test(contentType);
  const { text, checked } = isText ? textOf(bytes()) : NO_TEXT;
  // Nearly every answer repeats nothing, which this one check shows.
  const isSuspect = repeats([...fields.map(([, value]) => value), checked].join('\n'));
  return {
    text: text !== undefined && isSuspect && repeats(checked) ? LEFT_OUT : text,
    headers: headersOf(fields, (value) => isSuspect && repeats(value)),
  };
}

/** Returns the text shown of a body, and its bytes up to the end of a secret that begins in the text. */
function textOf(bytes: Buffer): { text: string | undefined; checked: string } {
  const all = bytes.toString('utf8');
  if (all === '' || CONTROL.test(all)) return NO_TEXT;
  const text = all.slice(0, MAX_CHARACTERS);
  return { text, checked: bytes.toString('latin1', 0, Buffer.byteLength(text) + BEHIND) };
}

const NO_TEXT = { text: undefined, checked: '' };

function headersOf(
  fields: readonly (readonly [name: string, value: string])[],
  repeats: (value: string) => boolean,
): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  let room = MAX_CHARACTERS;
  for (const [name, value] of fields) {
    const shown = (repeats(value) ? LEFT_OUT : value).slice(0, Math.min(MAX_VALUE, room));
    room -= shown.length;
    if (shown !== '') headers[name] = shown;
  }
  return room === MAX_CHARACTERS ? undefined : headers;
}

/** Returns the secret of a credential. A user name is no secret. */
function secretOf(credential: Credential): string {
  switch (credential.kind) {
    case 'apiKey':
      return credential.apiKey;
    case 'jwt':
      return credential.jwt;
    case 'basic':
      return credential.password;
    default:
      return credential satisfies never;
  }
}

/** Returns the characters of a secret, which below U+0100 are also its bytes in Latin-1, and its bytes in UTF-8. */
const formsOf = (secret: string): string[] => [secret, Buffer.from(secret).toString('latin1')];

/** Returns the bytes that a secret may encode in base64 or hex, also behind a prefix such as `whsec_`. */
const keysOf = (secret: string): string[] =>
  [secret, secret.slice(secret.lastIndexOf('_') + 1)]
    .flatMap((text) => (['base64', 'hex'] as const).map((encoding) => Buffer.from(text, encoding).toString('latin1')))
    .filter(({ length }) => length >= PIECE);

/** Header fields that tell a developer which server answered, why it refused, and how to find the request in its own log. */
const CHOSEN: ReadonlySet<string> = new Set([
  'allow',
  'cf-ray',
  'content-length',
  'content-type',
  'date',
  'location',
  'request-id',
  'retry-after',
  'server',
  'via',
  'www-authenticate',
  'x-amzn-requestid',
  'x-correlation-id',
  'x-request-id',
]);

/**
 * RFC 9110 section 5.5: the characters to which a value should be limited. The encoding of other bytes is unknown, so no secret
 * is found in them.
 */
const PRINTABLE = /^[\t\x20-\x7e]+$/;

/**
 * Returns the chosen fields of a head, by their names in lower case, in its order. A repeated field counts once, by its first
 * value.
 */
function chosenFields(head: string): [name: string, value: string][] {
  const fields = new Map<string, string>();
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (CHOSEN.has(name) && PRINTABLE.test(value) && !fields.has(name)) fields.set(name, value);
  }
  return [...fields];
}

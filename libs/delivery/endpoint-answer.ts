import { PIECE, secretFinder } from './repeated-secret.js';
import type { Credential } from './request.js';

/** The part of an endpoint's response that the relay keeps. */
export interface EndpointAnswer {
  readonly contentType: string | undefined;
  /** Status line and headers as received, each byte as one character. */
  readonly head: string;
  /** The beginning of the body. */
  readonly bytes: () => Buffer;
}

/** The part of a response that may be shown to partners and operators. */
export interface ShownAnswer {
  /** The beginning of the body; undefined if the body is empty or is not text. */
  readonly text: string | undefined;
  /** The headers listed in `CHOSEN`, with names in lower case; undefined if the response has none of them. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Maximum characters of the shown text, and of all shown header values together. */
const MAX_CHARACTERS = 1_024;
/** Maximum characters of one header value. */
const MAX_VALUE = 256;
/**
 * Bytes that are searched beyond the shown text. A secret that begins in the text but ends after it is then found in any
 * encoding.
 */
const BEHIND = 1_024;
/** Bytes of a body to keep, enough for the shown text: a character of the text takes at most three bytes of UTF-8. */
export const KEPT_BYTES = 3 * MAX_CHARACTERS + BEHIND;
const LEFT_OUT = 'left out: it repeats a credential';
const IS_TEXT = /^\s*(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i;
const CONTROL = /[^\P{Cc}\t\r\n]/u;

/**
 * Returns what may be shown of a response: at most 1,024 characters of the body, and header values of at most 256 characters
 * each and 1,024 together. An endpoint may repeat the request in its response. If the text or a header value contains part
 * of a secret of the webhook, a remark replaces that text or value.
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
  // Nearly every response repeats no secret. This single check of all parts shows that quickly.
  const isSuspect = repeats([...fields.map(([, value]) => value), checked].join('\n'));
  return {
    text: text !== undefined && isSuspect && repeats(checked) ? LEFT_OUT : text,
    headers: headersOf(fields, (value) => isSuspect && repeats(value)),
  };
}

/**
 * Returns the text to show of a body, and the bytes to search for secrets: the bytes of the text and `BEHIND` bytes more.
 */
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

/** Returns the secret part of a credential. A user name is not secret. */
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

/**
 * Returns the secret as it is, and its UTF-8 bytes as characters. Texts are searched byte by byte, each byte as one
 * character.
 */
const formsOf = (secret: string): string[] => [secret, Buffer.from(secret).toString('latin1')];

/**
 * Returns the bytes that result if the secret, or its part after a prefix such as `whsec_`, is decoded from base64 or hex.
 */
const keysOf = (secret: string): string[] =>
  [secret, secret.slice(secret.lastIndexOf('_') + 1)]
    .flatMap((text) => (['base64', 'hex'] as const).map((encoding) => Buffer.from(text, encoding).toString('latin1')))
    .filter(({ length }) => length >= PIECE);

/**
 * Headers that tell a developer which server responded, why it refused the request, and how to find the request in its log.
 */
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
 * RFC 9110 section 5.5 says that header values should use only these characters. A value with other bytes has an unknown
 * encoding, in which no secret can be found, so it is not shown.
 */
const PRINTABLE = /^[\t\x20-\x7e]+$/;

/**
 * Returns the headers listed in `CHOSEN`, in their order, with names in lower case. If a header is repeated, only its first
 * value is returned.
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

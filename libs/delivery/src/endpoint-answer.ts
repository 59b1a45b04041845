import { chosenFields } from './answer-fields.js';
import type { Credential } from './request.js';

/** What an endpoint answered, as far as it is kept. */
export interface EndpointAnswer {
  readonly contentType: string | undefined;
  /** Status line and header fields as received, each byte one character. */
  readonly head: string;
  /** The beginning of the body. */
  readonly bytes: () => Buffer;
}

/** What may be shown of an answer. */
export interface ShownAnswer {
  /** The beginning of the body; undefined when it is empty or no text. */
  readonly text: string | undefined;
  /** Chosen header fields by their names in lower case; undefined when it has none of them. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** The longest text that is shown, and what all header fields have together. */
const MAX_CHARACTERS = 1_024;
/** The longest value of a header field. */
const MAX_VALUE = 256;
/** A shorter one stands in any text, and is no secret. */
const MIN_SECRET = 4;
/** So much of a secret shows that it stands there, even if the rest was cut off. */
const SIGN = 8;
const REDACTED = '[redacted]';
const IS_TEXT = /^\s*(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i;
const CONTROL = /[^\P{Cc}\t\r\n]/u;

/**
 * An answer as it may be shown: a text of at most 1,024 characters, and header fields of 256 each and 1,024 together. An endpoint may answer
 * with what it was sent, so every secret of its webhook is replaced: as it is, percent-encoded, in base64 and in hex.
 */
export function shownAnswer(
  { contentType, head, bytes }: EndpointAnswer,
  credential: Credential,
  signingSecrets: readonly string[],
): ShownAnswer {
  // The longest first: one may be a part of another.
  const forms = new Set([...secretsOf(credential), ...signingSecrets].flatMap(formsOf));
  const inOrder = [...forms].toSorted((a, b) => b.length - a.length);
  return {
    text: contentType === undefined || IS_TEXT.test(contentType) ? textOf(bytes(), inOrder) : undefined,
    headers: headersOf(head, inOrder),
  };
}

function headersOf(head: string, forms: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  let room = MAX_CHARACTERS;
  for (const [name, value] of chosenFields(head)) {
    const shown = redacted(value, forms).slice(0, Math.min(MAX_VALUE, room));
    room -= shown.length;
    if (shown !== '') headers[name] = shown;
  }
  return room === MAX_CHARACTERS ? undefined : headers;
}

function textOf(bytes: Buffer, forms: readonly string[]): string | undefined {
  const text = bytes.toString('utf8');
  return text === '' || CONTROL.test(text) ? undefined : redacted(text, forms).slice(0, MAX_CHARACTERS);
}

function secretsOf(credential: Credential): string[] {
  switch (credential.kind) {
    case 'apiKey':
      return [credential.apiKey];
    case 'jwt':
      return [credential.jwt];
    case 'basic':
      return [`${credential.userName}:${credential.password}`, credential.password, credential.userName];
    default:
      return credential satisfies never;
  }
}

const redacted = (text: string, forms: readonly string[]): string => forms.reduce(without, text);

/** Replaces each place at which the form begins, for as long as the text goes on like it. */
function without(text: string, form: string): string {
  const sign = form.slice(0, SIGN);
  let shown = '';
  let from = 0;
  for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, from)) {
    let length = sign.length;
    while (length < form.length && text[at + length] === form[length]) length += 1;
    const isWhole = length === form.length || at + length === text.length;
    shown += text.slice(from, at) + (isWhole ? REDACTED : text.slice(at, at + length));
    from = at + length;
  }
  return shown + text.slice(from);
}

/** In a longer text that is encoded as a whole, base64 of a secret begins at one of three places of a group. */
function formsOf(secret: string): string[] {
  if (secret.length < MIN_SECRET) return [];
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const own = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const hex = bytes.toString('hex');
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    inJson.replaceAll('/', String.raw`\/`),
    encodeURIComponent(secret),
    ...base64,
    hex,
    hex.toUpperCase(),
  ];
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Stack } from './stack.js';

/** Secrets that are planted in a relay, and a search that finds them plain, in base64 and in hex. */
export class Canaries {
  readonly #needles = new Map<string, readonly string[]>();

  /** @param secret bytes, or text in UTF-8; long enough that no part of its encodings stands anywhere by chance */
  plant(name: string, secret: string | Buffer): void {
    if (Buffer.byteLength(secret) < 16) throw new RangeError(`${name} is too short to be told from chance`);
    this.#needles.set(name, needlesOf(Buffer.from(secret)));
  }

  get names(): readonly string[] {
    return [...this.#needles.keys()];
  }

  /** Names of the secrets that stand in a text or in bytes. */
  in(hay: string | Buffer): string[] {
    const text = asText(hay);
    return this.names.filter((name) => this.#needles.get(name)?.some((needle) => text.includes(needle)));
  }
}

/** Whether something harmless stands there, in any of the same forms. */
export const stands = (marker: string, hay: string | Buffer): boolean => {
  const text = asText(hay);
  return needlesOf(Buffer.from(marker)).some((needle) => text.includes(needle));
};

/** Every byte one character; JSON written by Lua escapes the slash. */
function asText(hay: string | Buffer): string {
  const text = Buffer.from(hay).toString('latin1');
  return text.includes('\\/') ? `${text}\n${text.replaceAll('\\/', '/')}` : text;
}

/** A secret inside a longer text may begin at any of three places of a base64 group: its invariant part for each of them. */
function needlesOf(secret: Buffer): string[] {
  const base64 = [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), secret]).toString('base64');
    const own = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const hex = secret.toString('hex');
  const plain = secret.toString('latin1');
  return [...new Set([plain, encodeURIComponent(secret.toString('utf8')), ...base64, hex, hex.toUpperCase()])];
}

/** The answer of an endpoint that shows what it was sent, in all of the forms. */
const echoOf = (secret: string): string =>
  ['you sent', ...needlesOf(Buffer.from(secret)), Buffer.from(`what you sent is ${secret}`).toString('base64url')].join(
    ' ',
  );

/** Header fields and body of an endpoint that shows in each of them what it was sent. */
export const anEcho = (secret: string) => ({
  headers: {
    'content-type': 'text/plain',
    'retry-after': secret,
    server: Buffer.from(`bob:${secret}`).toString('base64'),
    'www-authenticate': `Basic realm="${secret}"`,
    'x-echo': secret,
    'x-request-id': echoOf(secret),
  },
  body: echoOf(secret),
});

/** Every key of a Redis with all it holds, of whatever type. */
export async function dumpOf(redis: Redis): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const key of await redis.keys('*')) {
    parts.push(Buffer.from(key), ...(await valuesOf(redis, key)));
  }
  return Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n')]));
}

async function valuesOf(redis: Redis, key: string): Promise<Buffer[]> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return [(await redis.getBuffer(key)) ?? Buffer.alloc(0)];
    case 'hash':
      return [...(await redis.hkeysBuffer(key)), ...(await redis.hvalsBuffer(key))];
    case 'list':
      return redis.lrangeBuffer(key, 0, -1);
    case 'set':
      return redis.smembersBuffer(key);
    case 'zset':
      return redis.zrangeBuffer(key, '0', '-1');
    case 'stream':
      return flat(await redis.callBuffer('XRANGE', key, '-', '+'));
    case 'none':
      return []; // it expired meanwhile
    default:
      throw new Error(`${key} has the unknown type ${type}`);
  }
}

/** Every record of the topics of a relay, with its key and its headers. */
export async function recordsOf(stack: Stack): Promise<Buffer> {
  const prefix = stack.env['KAFKA_TOPIC_PREFIX'] ?? '';
  const records: Buffer[] = [];
  for (const name of await stack.admin.listTopics()) {
    if (!name.startsWith(prefix)) continue;
    for (const { key, value, headers } of await stack.topic(name.slice(prefix.length)).read())
      records.push(Buffer.from(`\n${name} ${key} ${JSON.stringify(headers)} `), value);
  }
  return Buffer.concat(records);
}

/** The bytes of the files in a folder whose names end so. */
export const filesOf = (folder: string, end: string): Buffer =>
  Buffer.concat(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(end))
      .map((name) => readFileSync(join(folder, name))),
  );

const flat = (reply: unknown): Buffer[] =>
  Array.isArray(reply) ? reply.flatMap(flat) : Buffer.isBuffer(reply) ? [reply] : [];

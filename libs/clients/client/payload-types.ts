import { unescape } from 'node:querystring';
import { z } from 'zod';

type Members = Readonly<Record<string, unknown>>;

/** The members of the answer to `GET /event-types` that the types follow. */
const Catalogue = z.object({
  eventTypes: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      payloadSchema: z.string().nullable(),
      deprecated: z.object({ use: z.string().optional() }).optional(),
    }),
  ),
});

const TIMEOUT_MS = 30_000;

const HEAD = '// The event types of a relay. `npx @partner-relay/client types` wrote this file, and writes it again.\n';

const tail = (members: readonly string[]): string => `/** The payload of each event type. */
export interface Payloads {
${members.join('')}}

/** The envelopes of the named event types. */
export type EnvelopeOf<Type extends keyof Payloads> = {
  [Each in Type]: { id: string; type: Each; payload: Payloads[Each] };
}[Type];

/** An envelope of any event type; its \`type\` tells which. */
export type Envelope = EnvelopeOf<keyof Payloads>;
`;

/**
 * Returns the text of a TypeScript module. It declares a type for each payload, and a union type of all envelopes that is
 * discriminated by `type`. Equal event types give equal text.
 * @param url base URL of the relay
 * @param ending signal that ends the requests
 * @throws Error that names the address whose answer is no document of a relay
 */
export async function payloadTypes(url: string, ending: AbortSignal): Promise<string> {
  const base = new URL(url);
  const at = (path: string): URL => new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);
  const read = (path: string): Promise<unknown> => answerOf(at(path), ending);
  const catalogue = Catalogue.safeParse(await read('/event-types'));
  if (!catalogue.success) throw new Error(`${at('/event-types').href} is not the list of event types of a relay`);
  const nameFor = unique(['Payloads', 'EnvelopeOf', 'Envelope']);
  const [declarations, members]: [string[], string[]] = [[], []];
  for (const type of catalogue.data.eventTypes.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    // The relay links to its public address. `url` can be another address of the relay, so only the path is used.
    const path = /\/schemas\/[^?#]+$/.exec(type.payloadSchema ?? '')?.[0];
    const schema = path === undefined ? { type: 'object' } : await read(path);
    const name = nameFor(type.name);
    const { use } = type.deprecated ?? {};
    const deprecated = type.deprecated && `@deprecated ${use === undefined ? '' : `Use ${use}.`}`;
    declarations.push(...declarationsOf(schema, name, commentOf([type.description, deprecated], ''), nameFor));
    members.push(`  ${JSON.stringify(type.name)}: ${name};\n`);
  }
  return [HEAD, ...declarations, tail(members)].join('\n');
}

async function answerOf(url: URL, ending: AbortSignal): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(url, { signal: AbortSignal.any([ending, AbortSignal.timeout(TIMEOUT_MS)]) });
  } catch (error) {
    // fetch tells the reason in the cause.
    const { cause = error } = error as Error;
    const { message = '', code = '' } = cause as { message?: string; code?: string };
    throw new Error(`${url.href} cannot be reached (${message || code})`, { cause: error });
  }
  if (!answer.ok) throw new Error(`${url.href} answered ${answer.status}`);
  try {
    return await answer.json();
  } catch (error) {
    throw new Error(`${url.href} did not answer with JSON`, { cause: error });
  }
}

/** Returns a function that makes a name of a type from words: another one at each call. */
function unique(taken: readonly string[]): (words: string) => string {
  const names = new Set(taken);
  return (words) => {
    const parts = words.split(/[^A-Za-z0-9]+/);
    const wanted = parts.map((part) => part.slice(0, 1).toUpperCase() + part.slice(1)).join('');
    const name = /^[A-Z]/.test(wanted) ? wanted : `_${wanted}`;
    let free = name;
    for (let count = 2; names.has(free); count += 1) free = `${name}${count}`;
    names.add(free);
    return free;
  };
}

/**
 * Returns the declaration of a schema's type, and one for each part of the schema that a `$ref` names. Types may be wider than the
 * schema, because a part that TypeScript cannot say is `unknown`.
 */
function declarationsOf(schema: unknown, name: string, comment: string, nameFor: (words: string) => string): string[] {
  const names = new Map([['#', name]]);
  /** The loop below adds the parts that it finds. */
  const pending = [{ alias: name, part: schema, comment }];
  /** The aliases that an alias consists of, rather than has in a member. TypeScript takes no circle of these. */
  const consists = new Map<string, Set<string>>();
  const leadsTo = (from: string, to: string): boolean => {
    const reached = new Set([from]);
    // The loop also visits the aliases that it adds.
    for (const each of reached) for (const next of consists.get(each) ?? []) reached.add(next);
    return reached.has(to);
  };

  /** @param within the alias that consists of the type; undefined in a member */
  const referred = (ref: string, within: string | undefined): string => {
    const part = partAt(schema, ref);
    if (part === undefined) return 'unknown';
    const alias = names.get(ref) ?? nameFor(`${name} ${ref.slice(ref.lastIndexOf('/') + 1)}`);
    if (!names.has(ref)) pending.push({ alias, part, comment: commentOf(notesOn(part), '') });
    names.set(ref, alias);
    if (within === undefined) return alias;
    if (leadsTo(alias, within)) return 'unknown';
    consists.set(within, (consists.get(within) ?? new Set()).add(alias));
    return alias;
  };

  const typeOf = (part: unknown, within: string | undefined, pad: string): string => {
    if (part === false) return 'never';
    if (!isObject(part)) return 'unknown';
    const all = (key: string): string[] => listOf(part[key]).map((each) => typeOf(each, within, pad));
    const either = ['anyOf', 'oneOf'].filter((key) => listOf(part[key]).length > 0).map((key) => unionOf(all(key)));
    const ref = typeof part['$ref'] === 'string' ? [referred(part['$ref'], within)] : [];
    const whole = [ownTypeOf(part, pad), ...ref, ...all('allOf'), ...either].filter((each) => each !== 'unknown');
    const texts = [...new Set(whole)];
    return texts.length < 2 ? (texts[0] ?? 'unknown') : texts.map(grouped).join(' & ');
  };

  /** The type without other schemas that hold for the same value. */
  const ownTypeOf = (part: Members, pad: string): string => {
    if (Object.hasOwn(part, 'const')) return literal(part['const']);
    if (Array.isArray(part['enum'])) return unionOf(part['enum'].map(literal));
    const { type } = part;
    const said = typeof type === 'string' ? [type] : listOf(type);
    const implied = KINDS.filter(([, keys]) => keys.some((key) => part[key] !== undefined)).map(([kind]) => kind);
    const kinds = type === undefined ? implied : part['nullable'] === true ? [...said, 'null'] : said;
    const texts = kinds.map((kind) => {
      if (kind === 'object') return objectOf(part, pad);
      return kind === 'array' ? arrayOf(part, pad) : (PLAIN.get(kind) ?? 'unknown');
    });
    return texts.length === 0 ? 'unknown' : unionOf(texts);
  };

  const objectOf = (part: Members, pad: string): string => {
    const { properties, required, additionalProperties: others, patternProperties } = part;
    const members = new Map(isObject(properties) ? Object.entries(properties) : []);
    const needed = new Set(listOf(required).filter((each) => typeof each === 'string'));
    const inner = `${pad}  `;
    const lines = [...new Set([...members.keys(), ...needed])].map((key) => {
      const member = members.get(key);
      const named = `${keyOf(key)}${needed.has(key) ? '' : '?'}`;
      return `${commentOf(notesOn(member), inner)}${inner}${named}: ${typeOf(member, undefined, inner)};\n`;
    });
    // An index signature holds for the members that have names, too.
    const isMap = lines.length === 0 && patternProperties === undefined;
    const rest = isMap ? typeOf(others, undefined, inner) : 'unknown';
    const isOpen = isMap || patternProperties !== undefined || (others !== undefined && others !== false);
    return `{\n${lines.join('')}${isOpen ? `${inner}[member: string]: ${rest};\n` : ''}${pad}}`;
  };

  const arrayOf = ({ prefixItems, items, minItems }: Members, pad: string): string => {
    const rest = items === false ? [] : [`${grouped(typeOf(items, undefined, pad))}[]`];
    const least = typeof minItems === 'number' ? minItems : 0;
    const first = listOf(prefixItems).map(
      (each, index) => `${grouped(typeOf(each, undefined, pad))}${index < least ? '' : '?'}`,
    );
    return first.length === 0 ? (rest[0] ?? '[]') : `[${[...first, ...rest.map((each) => `...${each}`)].join(', ')}]`;
  };

  const texts: string[] = [];
  for (const each of pending)
    texts.push(`${each.comment}export type ${each.alias} = ${typeOf(each.part, each.alias, '')};\n`);
  return texts;
}

const PLAIN = new Map<unknown, string>([
  ['string', 'string'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
]);

/** Types that keywords imply in a schema without `type`. */
const KINDS = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties']],
  ['array', ['items', 'prefixItems']],
] as const;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the part of a document at a JSON Pointer in a fragment (RFC 6901, section 6); undefined if there is none. */
const partAt = (document: unknown, ref: string): unknown =>
  !/^#(?:\/|$)/.test(ref)
    ? undefined
    : unescape(ref)
        .split('/')
        .slice(1)
        .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
        .reduce((value, key) => (Object.hasOwn(Object(value), key) ? (value as Members)[key] : undefined), document);

function unionOf(texts: readonly string[]): string {
  if (texts.includes('unknown')) return 'unknown';
  return [...new Set(texts)].filter((text) => text !== 'never').join(' | ') || 'never';
}

const grouped = (text: string): string => (/ [|&] /.test(text) ? `(${text})` : text);

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'string') return quoted(value);
  // JSON allows numbers that are too large for a JavaScript number, such as 1e400. They are read as infinite.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'number';
  if (!isObject(value)) return String(value);
  const members = Object.entries(value).map(([name, member]) => `${keyOf(name)}: ${literal(member)}`);
  return `{ ${members.join('; ') || '[member: string]: never'} }`;
}

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));

/** Characters that end a line, or change the order in which others are shown. */
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll(HIDDEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

const notesOn = (part: unknown): unknown[] =>
  isObject(part) ? [part['description'], part['deprecated'] === true ? '@deprecated' : undefined] : [];

function commentOf(notes: readonly unknown[], pad: string): string {
  const lines = notes
    .flatMap((note) => (typeof note === 'string' ? note.split(/\r\n?|[\n\u2028\u2029]/) : []))
    .map((line) => line.replaceAll(HIDDEN, ' ').replaceAll('*/', '*\\/').trim())
    .filter((line) => line !== '');
  if (lines.length < 2) return lines.map((line) => `${pad}/** ${line} */\n`).join('');
  return `${pad}/**\n${lines.map((line) => `${pad} * ${line}\n`).join('')}${pad} */\n`;
}

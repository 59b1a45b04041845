import { jsonPointer } from '@relay/json';

type Json = { readonly [name: string]: unknown };
/** Who writes what a schema describes: a client may not be asked for more, nor be told less or something new. */
type Direction = 'taken' | 'answered';

/** Members of a document whose removal ends something that a client may use. */
const KEPT = new Set([
  'paths',
  'webhooks',
  'channels',
  'operations',
  'responses',
  'parameters',
  'content',
  'headers',
  'messages',
  'properties',
]);
/** Texts of an AsyncAPI document by which a client finds its topic: not words about something, but the thing itself. */
const FIXED = ['address', 'action'];
const TAKEN = new Set(['requestBody', 'parameters']);

/**
 * What of a newer OpenAPI or AsyncAPI document would break a client of the older one, each as a sentence; empty when nothing
 * would. Looks at what this relay's documents consist of, with every `$ref` followed: removed paths, methods, answers,
 * parameters, headers and members; members and parameters that are newly required of a client or no longer certain for it;
 * types, enums, patterns and limits that take less from a client or answer it something new.
 */
export function breakingChanges(before: unknown, after: unknown): string[] {
  const faults: string[] = [];
  compare(before, after, { path: [], direction: 'answered', seen: new Set(), faults, before, after });
  return [...new Set(faults)];
}

interface Place {
  readonly path: readonly string[];
  readonly direction: Direction;
  /** References being followed: a schema may contain itself. */
  readonly seen: ReadonlySet<string>;
  readonly faults: string[];
  readonly before: unknown;
  readonly after: unknown;
}

function compare(old: unknown, now: unknown, place: Place): void {
  if (!isObject(old) || !isObject(now)) return;
  const reference = `${String(old['$ref'])} ${String(now['$ref'])} ${place.direction}`;
  if (old['$ref'] !== undefined || now['$ref'] !== undefined) {
    if (place.seen.has(reference)) return;
    const seen = new Set([...place.seen, reference]);
    return compare(followed(old, place.before), followed(now, place.after), { ...place, seen });
  }
  for (const name of FIXED)
    if (typeof old[name] === 'string' && old[name] !== now[name])
      tell({ ...place, path: [...place.path, name] }, `is no longer ${old[name]}`);
  compareLimits(old, now, place);
  for (const [name, value] of Object.entries(old)) {
    if (name === 'example' || name === 'examples' || name === 'components') continue;
    const inner = { ...place, path: [...place.path, name], direction: directionOf(name, place) };
    const other = now[name];
    if (KEPT.has(name)) compareMembers(keyed(value), keyed(other), inner);
    else if (Array.isArray(value) && Array.isArray(other))
      value.forEach((item, index) => compare(item, other[index], inner));
    else compare(value, other, inner);
  }
}

const directionOf = (name: string, { direction, path }: Place): Direction => {
  if (TAKEN.has(name)) return 'taken';
  // What an endpoint is sent is for it what an answer is for a caller.
  return path[0] === 'webhooks' ? 'answered' : direction;
};

function compareMembers(old: Json, now: Json, place: Place): void {
  for (const [name, value] of Object.entries(old)) {
    const inner = { ...place, path: [...place.path, name] };
    if (!(name in now)) tell(inner, 'was removed');
    else if (isMethods(place)) compareMembers(keyed(value), keyed(now[name]), inner);
    else compare(value, now[name], inner);
  }
  if (place.path.at(-1) !== 'parameters') return;
  for (const [name, value] of Object.entries(now))
    if (!(name in old) && isObject(value) && value['required'] === true)
      tell({ ...place, path: [...place.path, name] }, 'is newly required');
}

/** Below `/paths` and `/webhooks` stand methods, which must stay like what they stand in. */
const isMethods = ({ path }: Place): boolean => path.length === 1 && (path[0] === 'paths' || path[0] === 'webhooks');

function compareLimits(old: Json, now: Json, place: Place): void {
  const isTaken = place.direction === 'taken';
  const [wider, narrower] = isTaken ? [old, now] : [now, old];
  const required = (of: Json): string[] => (Array.isArray(of['required']) ? of['required'].map(String) : []);
  for (const name of required(narrower)) {
    if (required(wider).includes(name)) continue;
    tell({ ...place, path: [...place.path, name] }, isTaken ? 'is newly required' : 'is no longer always there');
  }
  if (isTaken && old['required'] !== true && now['required'] === true) tell(place, 'is newly required');
  const values = (of: Json): unknown[] | undefined =>
    'const' in of ? [of['const']] : (of['enum'] as unknown[] | undefined);
  const [all, some] = [values(wider), values(narrower)];
  if (some !== undefined && all === undefined) tell(place, 'has its values restricted or no longer told');
  for (const value of all ?? [])
    if (some?.includes(value) === false)
      tell(place, `${isTaken ? 'no longer takes' : 'may newly be'} ${String(value)}`);
  for (const name of ['type', 'format', 'pattern'])
    if (
      JSON.stringify(old[name]) !== JSON.stringify(now[name]) &&
      now[name] !== undefined &&
      (old[name] !== undefined || isTaken)
    )
      tell(place, `has another ${name}`);
  if (!isTaken) return;
  for (const name of ['maxLength', 'maximum', 'maxItems'])
    if (Number(now[name] ?? Infinity) < Number(old[name] ?? Infinity)) tell(place, `has a smaller ${name}`);
  for (const name of ['minLength', 'minimum', 'minItems'])
    if (Number(now[name] ?? -Infinity) > Number(old[name] ?? -Infinity)) tell(place, `has a larger ${name}`);
  if (old['additionalProperties'] !== false && now['additionalProperties'] === false)
    tell(place, 'takes no further members');
}

function followed(value: Json, document: unknown): unknown {
  const reference = value['$ref'];
  if (typeof reference !== 'string') return value;
  return reference
    .slice(2)
    .split('/')
    .reduce(
      (at: unknown, name) => (isObject(at) ? at[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      document,
    );
}

/** Parameters are a list in the document; what tells them apart is place and name. */
function keyed(value: unknown): Json {
  if (!Array.isArray(value)) return isObject(value) ? value : {};
  return Object.fromEntries(
    value.map((item: unknown, index) => [
      isObject(item) ? `${String(item['in'])} ${String(item['name'])}` : String(index),
      item,
    ]),
  );
}

const tell = ({ path, faults }: Place, what: string): void => void faults.push(`${jsonPointer(path)} ${what}`);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

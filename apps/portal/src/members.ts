/** A member of a payload, as the schema describes it. */
export interface Member {
  /** JSON Pointer into the payload; `*` stands for each item of a list and each name of a map. */
  readonly pointer: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema itself shows what is deeper, and what comes after as many members. */
const MAX_DEPTH = 8;
const MAX_MEMBERS = 500;

/** Returns the members of the payloads that a JSON Schema describes, each before those inside it. Never throws. */
export function membersOf(root: Schema): Member[] {
  const found: Member[] = [];
  const walk = (schema: unknown, pointer: string, above: readonly (readonly Schema[])[]): void => {
    const parts = partsOf(schema, root);
    // A recursive schema contains itself.
    if (above.length === MAX_DEPTH || above.flat().some((part) => parts.includes(part))) return;
    for (const [name, member, isRequired] of childrenOf(parts, root)) {
      if (found.length === MAX_MEMBERS) return;
      const inside = partsOf(member, root);
      const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      // The type of a list names that of its items.
      if (name !== '*')
        found.push({ pointer: at, type: typeOf(inside, root, 2), isRequired, description: wordsIn(inside) });
      walk(member, at, [...above, parts]);
    }
  };
  walk(root, '', []);
  return found;
}

/** Returns a schema with the schemas that apply beside it: what it refers to, `allOf`, and its alternatives. */
function partsOf(schema: unknown, root: Schema, seen = new Set<Schema>()): Schema[] {
  if (!isSchema(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const beside = ['allOf', ...ALTERNATIVES].flatMap((keyword) => listIn(schema, keyword));
  return [schema, ...[target(schema['$ref'], root), ...beside].flatMap((part) => partsOf(part, root, seen))];
}

const ALTERNATIVES = ['anyOf', 'oneOf'];

/** Names, schemas, and whether they are required; a member of an alternative is not. */
function childrenOf(parts: readonly Schema[], root: Schema): [string, unknown, boolean][] {
  const optional = new Set(
    parts
      .flatMap((part) => ALTERNATIVES.flatMap((keyword) => listIn(part, keyword)))
      .flatMap((each) => partsOf(each, root)),
  );
  const required = new Set(parts.flatMap((part) => (optional.has(part) ? [] : listIn(part, 'required'))));
  const members = new Map<string, unknown>();
  for (const { properties, items, additionalProperties } of parts) {
    for (const [name, member] of Object.entries(isSchema(properties) ? properties : {})) members.set(name, member);
    for (const each of [items, additionalProperties])
      if (isSchema(each) && Object.keys(each).length > 0) members.set('*', each);
  }
  return [...members].map(([name, member]) => [name, member, required.has(name)]);
}

/** The type in words that JSON and its schemas use, such as `array of string (uuid)`. */
function typeOf(parts: readonly Schema[], root: Schema, depth: number): string {
  const found = parts.flatMap((part): string[] => {
    const { type, format, items, properties } = part;
    if ('const' in part) return [JSON.stringify(part['const'])];
    const choices = listIn(part, 'enum');
    if (choices.length > 0) return choices.map((choice) => JSON.stringify(choice));
    const types = [type].flat().filter((each) => typeof each === 'string');
    const known = types.length === 0 && isSchema(properties) ? ['object'] : types;
    return known.map((each) => {
      if (each === 'array' && isSchema(items) && depth > 0)
        return `array of ${typeOf(partsOf(items, root), root, depth - 1)}`;
      return typeof format === 'string' && each === 'string' ? `string (${format})` : each;
    });
  });
  return [...new Set(found)].join(' or ') || 'any';
}

const wordsIn = (parts: readonly Schema[]): string =>
  parts.map((part) => part['description'] ?? part['title']).find((text) => typeof text === 'string') ?? '';

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listIn = (schema: Schema, keyword: string): unknown[] => {
  const list = schema[keyword];
  return Array.isArray(list) ? list : [];
};

/** The schema that a reference within the document names. */
function target(reference: unknown, root: Schema): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined;
  const names = reference.split('/').slice(1);
  return names.reduce<unknown>(
    (at, name) =>
      isSchema(at) || Array.isArray(at) ? (at as Schema)[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined,
    root,
  );
}
